# Completion of framefs for bash.

_framefs() {
  local cur prev words cword
  _init_completion -n = || return

  local command=mount
  case ${words[1]-} in
    compact | info | unpack | help) [[ $cword -gt 1 ]] && command=${words[1]} ;;
  esac

  case $prev in
    -o | --output)
      if [[ $command == mount ]]; then
        mapfile -t COMPREPLY < <(compgen -W "allow_other arrays= attr_timeout= cache_size= \
          commit_interval= debug io_uring keep_suffix log_file= noexec nosuid nodev noatime offset= \
          overlay_size= plain= ro rule= rw threads= writeback" -- "$cur")
        compopt -o nospace
      else
        _filedir
      fi
      return
      ;;
    --arrays)
      local views="npy raw"
      [[ $command == mount ]] && views+=" both"
      mapfile -t COMPREPLY < <(compgen -W "$views" -- "$cur")
      return
      ;;
    --log-file)
      _filedir
      return
      ;;
    --offset | --cache-size | --threads | --attr-timeout | --rule | --plain) return ;;
    --overlay-size | --commit-interval) return ;;
  esac

  if [[ $cur == -* ]]; then
    local options="--help"
    case $command in
      compact) options+=" --verbose" ;;
      info) options+=" --json --chunks --offset" ;;
      unpack) options+=" --output --arrays --offset --threads --force --quiet" ;;
      mount)
        options+=" --version --foreground --keep-suffix --arrays --offset --allow-other --cache-size"
        options+=" --threads --attr-timeout --log-file --debug --io-uring --ro --rw --rule --plain"
        options+=" --overlay-size --commit-interval --writeback -o"
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    return
  fi

  if [[ $command == help ]]; then
    mapfile -t COMPREPLY < <(compgen -W "mount compact info unpack" -- "$cur")
    return
  fi
  _filedir
  if [[ $cword -eq 1 ]]; then
    local names
    mapfile -t names < <(compgen -W "mount compact info unpack help" -- "$cur")
    COMPREPLY+=("${names[@]}")
  fi
}

complete -F _framefs framefs
