// Package nodefile keeps what a node of a cluster must know when its process starts again.
//
// A node has two files in the folder of its images, which other nodes may share:
//
//	NODE.node       what the node knows (cluster.Past)
//	NODE.node.lock  locked while a process runs the node
//
// NODE.node is text of three lines: a header with a version, a JSON object, and a checksum of both:
//
//	worldd node 1
//	{"node":"a","place":"…","directory":"00000000000000a1","incarnations":["00000000000000b2"]}
//	1c2d3e4f
//
// Invariants:
//
//	N1  Only the process with the lock writes the file, and each write replaces it as a whole.
//	N2  The incarnations in the file belong to processes that have ended, as far as the lock proves it: the file says on which
//	    running system and with which lock file they were written (its place). Anywhere else, for instance on another machine
//	    with the same network folder, or in a copy of the folder, they are not used, and the node waits for the end of a lease.
//	N3  A file that is damaged is replaced. One of a newer version stays unchanged, and is not used.
package nodefile
