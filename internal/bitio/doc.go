// Package bitio reads and writes the elements of messages: bit strings (Writer,
// Reader), and bytes, little-endian integers and uvarints (Cursor).
//
// A bit string is written least significant bit first: bit i is bit i%8 of byte
// i/8. Besides fixed-width fields it has two forms for numbers of unknown size:
//
//	sized      2 bits choose a width of 4, 8, 16 or 32 bits; the number follows
//	Golomb(k)  exponential Golomb of order k: 2^k numbers at k+1 bits, the next 2^(k+1) at k+3, ...
//
// Readers accept untrusted bytes. They never read past the end, reject all but the
// shortest form, and keep the first error, after which they return zeros: callers check
// once, at the end. The package that knows the message gives the error a code
// (wire.Malformed). With the invariants tag, writers panic on values that do not fit;
// otherwise they write garbage.
package bitio
