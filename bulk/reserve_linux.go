package bulk

import "syscall"

// noReserve: Linux refuses mappings that look too large for its memory and swap
// unless told that most of it will never be touched. Other systems overcommit.
const noReserve = syscall.MAP_NORESERVE
