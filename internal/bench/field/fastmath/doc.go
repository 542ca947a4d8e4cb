// Package fastmath is the effects of the yardstick in plain C, as one would write
// them for a compiler that vectorises and may do anything to arithmetic: gcc -O3
// -march=native -ffast-math, with vectors of the width that gcc prefers and with
// those of 512 bits. It also measures what memory can do.
package fastmath
