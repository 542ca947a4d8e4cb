// Package bitio reads and writes what messages are made of: bit strings (Writer,
// Reader), and bytes, little-endian integers and uvarints (Cursor). It knows no
// message.
//
// A bit string is written least significant bit first: bit i is bit i%8 of byte
// i/8. Besides fields of fixed width it has two forms for numbers of unknown size:
//
//	sized      2 bits choose a width of 4, 8, 16 or 32 bits; the number follows
//	Golomb(k)  exponential Golomb of order k: 2^k numbers at k+1 bits, the next 2^(k+1) at k+3, ...
//
// Readers take untrusted bytes. They never read beyond the end, refuse every form
// but the shortest, and remember the first error, after which they return zeros:
// callers check once, at the end. Errors say what was seen and what was wanted;
// the package that knows the message gives them a code (wire.Malformed).
// Writers panic under the invariants tag on values that do not fit, and write
// garbage otherwise.
package bitio
