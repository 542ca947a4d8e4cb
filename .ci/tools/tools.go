// Package tools pins the programs that .ci/run builds. It is a module of its
// own, so that whoever imports worldd does not inherit their dependencies.
package tools
