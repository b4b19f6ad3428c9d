"""The image, the manifests and the page in packaging/container: they fit together, and framefs
accepts their command lines."""

import pathlib
import re
import shlex
import signal
import unittest

import yaml

import daemon
from command_case import CommandCase

FOLDER = daemon.ROOT / "packaging/container"
ENVIRONMENT = daemon.ROOT / "fs/net/credentials/aws_environment.cc"


def manifests():
    return {path.name: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))}


def pod_of(manifest):
    return manifest["spec"]["template"]["spec"] if manifest["kind"] == "DaemonSet" else manifest["spec"]


def containers_of(manifest):
    pod = pod_of(manifest)
    return pod.get("initContainers", []) + pod["containers"]


def mounts(container):
    return container["name"] == "framefs"


class ContainerRecipe(CommandCase):
    def check_command_line(self, words):
        """framefs accepts a command line, whose paths become folders of the test."""
        *options, source, mountpoint = words
        folder = self.folder / "cache"
        for number, word in enumerate(options):
            if word.startswith("/"):
                options[number] = str(folder)
        if source.startswith("/"):
            source = self.source
        self.framefs(*options, "--check-only", source, self.mountpoint)

    def test_framefs_accepts_the_command_lines_of_the_manifests(self):
        self.assertEqual(sorted(manifests()), ["daemonset.yaml", "sidecar.yaml"])
        for name, manifest in manifests().items():
            (container,) = filter(mounts, containers_of(manifest))
            shell, flag, script = container["command"]
            self.assertEqual((shell, flag), ("sh", "-c"))
            self.tool("sh", "-n", "-c", script)
            (command,) = (line for line in script.splitlines() if line.startswith("exec framefs "))
            words = shlex.split(command)[2:]
            with self.subTest(name):
                self.check_command_line(words)
                mountpoint = words[-1]
                self.assertIn(f"mkdir -p {mountpoint} ", script)
                self.assertEqual(container["startupProbe"]["exec"]["command"], ["mountpoint", "-q", mountpoint])
                self.assertIn("memory", container["resources"]["limits"])

    def test_probe_and_metrics_of_the_daemonset(self):
        mount_container, metrics = containers_of(manifests()["daemonset.yaml"])
        mountpoint = shlex.split(mount_container["command"][2].strip().splitlines()[-1])[-1]
        shell, flag, script = metrics["command"]
        # The words of the last line; the name of the program is not in the PATH.
        *_, line = script.strip().splitlines()
        words = shlex.split(line)
        self.assertEqual((words[:3], words[-1]), (["exec", "framefs", "stats"], mountpoint))
        self.assertEqual(words[-2], f":{metrics['ports'][0]['containerPort']}")
        self.tool(shell, "-n", flag, script)
        # The command line is right: what it lacks here is the mount.
        result = self.tool(daemon.FRAMEFS, *words[2:-1], self.folder, check=False)
        self.assertEqual((result.returncode, b"is not a mount" in result.stderr), (1, True), result.stderr)
        shell, flag, script = mount_container["livenessProbe"]["exec"]["command"]
        self.make_frame(b"some text\n", self.source / "log.b2frame")
        probe = [shell, flag, script.replace(mountpoint, str(self.mountpoint))]
        with daemon.Mount(self.source, self.mountpoint, "--ro") as mount:
            self.tool(*probe)
            mount.exit_codes = (-signal.SIGKILL,)
            mount.kill()
        self.assertNotEqual(self.tool(*probe, check=False).returncode, 0)

    def test_volumes_and_rights_fit_together(self):
        for name, manifest in manifests().items():
            volumes = {volume["name"] for volume in pod_of(manifest)["volumes"]}
            for container in containers_of(manifest):
                with self.subTest(name, container=container["name"]):
                    used = container["volumeMounts"]
                    self.assertLessEqual({volume["name"] for volume in used}, volumes)
                    propagation = {volume.get("mountPropagation") for volume in used} - {None}
                    is_privileged = container.get("securityContext", {}).get("privileged", False)
                    wanted = "Bidirectional" if mounts(container) else "HostToContainer"
                    self.assertEqual(propagation, {wanted})
                    self.assertEqual(is_privileged, mounts(container))
        labels = manifests()["daemonset.yaml"]["spec"]
        self.assertEqual(labels["selector"]["matchLabels"], labels["template"]["metadata"]["labels"])

    def test_environment_variables_are_those_that_framefs_reads(self):
        known = set(re.findall(r'"(AWS_[A-Z0-9_]+)"', ENVIRONMENT.read_text()))
        named = set(re.findall(r"`(AWS_[A-Z0-9_]+)`", (FOLDER / "README.md").read_text()))
        for manifest in manifests().values():
            for container in containers_of(manifest):
                named |= {variable["name"] for variable in container.get("env", [])}
        self.assertGreater(len(named), 8)
        self.assertLessEqual(named, known)

    def test_framefs_accepts_the_command_lines_of_the_page(self):
        text = (FOLDER / "README.md").read_text()
        commands = re.findall(r"(?m)^ {6}framefs (--.*)$", text)
        self.assertEqual(len(commands), 2)
        for command in commands:
            with self.subTest(command):
                self.check_command_line(shlex.split(command))
        options = set(re.findall(r"`(--[a-z-]+)`", text))
        self.assertGreater(len(options), 3)
        known = self.framefs("mount", "--help").stdout.decode()
        self.assertEqual([option for option in options if option not in known], [])
        for path in ("sidecar.yaml", "daemonset.yaml", "Containerfile"):
            self.assertIn(f"`{path}`", text)

    def test_the_image_is_the_package(self):
        """Its steps are those of scripts/package, which builds and installs in a bare Debian."""
        recipe = re.sub(r"\\\n", "", (FOLDER / "Containerfile").read_text())
        steps = [line.split(None, 1) for line in recipe.splitlines() if line and not line.startswith("#")]
        self.assertEqual([step for step, _ in steps],
                         ["ARG", "FROM", "WORKDIR", "COPY", "RUN", "FROM", "ARG", "LABEL", "COPY", "RUN", "ENTRYPOINT", "CMD"])
        for step, text in steps:
            if step == "RUN":
                self.tool("sh", "-n", "-c", text)
        package = "".join((daemon.ROOT / "scripts/lib" / name).read_text() for name in ("debian_package.sh", "chroot.sh"))
        for words in ("build-essential debhelper", "build-dep", "dpkg-buildpackage -b -us -uc"):
            self.assertIn(words, recipe)
            self.assertIn(words, package)
        self.assertIn('ENTRYPOINT ["framefs"]', recipe)
        ignored = (daemon.ROOT / ".dockerignore").read_text().split("\n")[1:]
        for path in filter(None, ignored):
            self.assertFalse(pathlib.Path(path).is_absolute())
            self.assertNotIn(path, ("debian", "packaging", "scripts", "src"))


if __name__ == "__main__":
    unittest.main()
