package bulk

import "syscall"

// noReserve keeps Linux from refusing mappings larger than its memory and swap. Other
// systems overcommit.
const noReserve = syscall.MAP_NORESERVE
