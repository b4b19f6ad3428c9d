# Completion of framefs for bash.

_framefs() {
  local cur prev words cword
  _init_completion -n = || return

  local commands="mount compact info pack unpack" command=mount
  case ${words[1]-} in
    compact | info | pack | unpack | help) [[ $cword -gt 1 ]] && command=${words[1]} ;;
  esac

  local choices=
  case $prev in
    -o | --output)
      if [[ $command != mount ]]; then
        _filedir
        return
      fi
      choices="allow_other arrays= attr_timeout= cache_size= commit_interval= debug io_uring keep_suffix
        log_file= no_sandbox noexec nosuid nodev noatime offset= overlay_size= plain= ro rule= rw threads= writeback"
      compopt -o nospace
      ;;
    --arrays)
      choices="npy raw"
      [[ $command == mount ]] && choices+=" both"
      ;;
    --codec) choices="blosclz lz4 lz4hc zlib zstd" ;;
    --filter) choices="none shuffle bitshuffle bytedelta" ;;
    --log-file)
      _filedir
      return
      ;;
    --attr-timeout | --block-size | --cache-size | --chunk-size | --commit-interval | --level) return ;;
    --offset | --overlay-size | --plain | --rule | --threads | --typesize) return ;;
  esac

  if [[ -z $choices && $cur == -* ]]; then
    choices="--help"
    case $command in
      compact) choices+=" --verbose" ;;
      info) choices+=" --json --chunks --offset" ;;
      pack)
        choices+=" --output --codec --level --typesize --filter --chunk-size --block-size --threads"
        choices+=" --force --quiet"
        ;;
      unpack) choices+=" --output --arrays --offset --threads --force --quiet" ;;
      mount)
        choices+=" --version --foreground --keep-suffix --arrays --offset --allow-other --cache-size"
        choices+=" --threads --attr-timeout --log-file --debug --no-sandbox --io-uring --ro --rw --rule --plain"
        choices+=" --overlay-size --commit-interval --writeback -o"
        ;;
    esac
  fi
  [[ $command == help ]] && choices=$commands
  if [[ -n $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$cur")
    return
  fi

  _filedir
  if [[ $cword -eq 1 ]]; then
    local names
    mapfile -t names < <(compgen -W "$commands help" -- "$cur")
    COMPREPLY+=("${names[@]}")
  fi
}

complete -F _framefs framefs
