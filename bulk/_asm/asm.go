// Command asm generates the assembly kernels of package bulk; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	ConstraintExpr("amd64,!purego")
	appendMembers()
	combineGroups()
	countGroups()
	Generate()
}
