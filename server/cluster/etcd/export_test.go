package etcd

// Compact is for tests outside of the package.
var Compact = (*Store).compact
