// Package etcd is a cluster.Store in etcd 3.4 or later, through its JSON gateway and net/http alone.
//
// # Terms
//
//   - The engine is the etcd that serves the directory: one member, or three.
//   - An endpoint is the client URL of one member. A [Store] sends each request to the present endpoint, and when that fails
//     the next one becomes present.
//   - Sent is a request of which the endpoint may have received a byte.
//   - The prefix stands before every key, so that several games can share an engine: PREFIX/KEY. The marker PREFIX.compacted
//     is the Store's own.
//
// One request each:
//
//	Swap   POST /v3/kv/txn     if the mod_revision of every key is as expected: put, delete
//	Read   POST /v3/kv/range   linearizable; a page of 256 keys; those of a range are at the revision of the first
//	Watch  POST /v3/watch      a stream: created, then events; ends with canceled if compacted
//	Open   POST /v3/maintenance/status, also before the first request after an endpoint failed
//
// All of them ask for a leader (metadata hasleader): a member that is cut off refuses at once.
//
// # Invariants, cited in code and tests
//
//	E1 A swap is sent at most once. Once it is sent, only an answer says what happened: a member of the right cluster
//	   answers with its header, or etcd refuses it with a code that it uses before it changes anything. All else is
//	   cluster.ErrUnknown.
//	E2 No request takes longer than the context and Config.Timeout for each endpoint, however the endpoint behaves. A watch
//	   that receives no whole message for Config.Silence starts again from where it was, on the next endpoint.
//	E3 Whatever an endpoint sends, at most maxAnswer bytes of one answer or message are kept.
//	E4 An answer is used only if it is complete, has the cluster's identity, and answers what was asked: keys in order
//	   and within the range, revisions rising.
//	E5 Nothing is sent to another machine except by TLS with a client certificate. Redirects and proxies are not used.
//
// # Compaction
//
// etcd keeps every revision until it is told to compact, and stops at its quota (2 GiB). Neither the gateway nor
// etcd's metrics say whether it compacts by itself, so the Store does it: every Config.CompactEvery one of the nodes, chosen by
// a swap of the marker, compacts up to the revision of one such period ago. Kubernetes does the same. The engine's own
// compaction may run beside it. Other users of the same engine lose old revisions as well.
//
// # Certificates
//
// With --client-cert-auth etcd's gateway presents the engine's own certificate to the engine. It needs both extended key
// usages, serverAuth and clientAuth; without the second all requests fail. Users and roles of etcd are not supported:
// every holder of a client certificate may do everything.
package etcd
