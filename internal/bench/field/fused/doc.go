// Package fused holds the benchmark's effects in C with vector intrinsics: one loop per
// effect, all intermediate results in registers, and field's arithmetic to the last bit.
// ISO mode keeps gcc from contracting a*b + c to a fused multiply-add.
package fused
