// Package fastmath holds the benchmark's effects in plain C, written for auto-vectorisation
// (gcc -O3 -march=native -ffast-math), with vectors of the width that gcc prefers or of
// 512 bits. It also measures memory bandwidth.
package fastmath
