// Package tools pins the programs that .ci/run builds. It is a separate module, to
// keep their dependencies out of modules that import worldd.
package tools
