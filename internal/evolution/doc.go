// Package evolution tests the effects of a change of a game on its images, recordings and clients. Each row of
// its table has two builds of one game. Five columns say what happens between them, and which values
// survive; the test compares both. EVOLVING.md, which users read, has the same table: the test fails if
// one of them has a row or an outcome that the other lacks.
package evolution
