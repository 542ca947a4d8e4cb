// Package fused is the effects of the yardstick in C with vector intrinsics: each
// effect one loop, everything in registers, and field's arithmetic to the last bit.
// It is compiled in ISO mode, in which gcc fuses nothing that is not written fused.
package fused
