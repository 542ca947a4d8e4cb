// Package admin is the operator's port of a server: metrics, health and readiness, the
// sessions page with kick, watch, drain and qlog, and profiles, over HTTP.
//
//	request ──► connections (at most 12) ──► bounded (deadlines)
//	                                            │
//	   guard (Host, Origin)
//	     ├─ /healthz, /readyz ──► Report: copies, at any time
//	     ├─ /live, /operator ──► pages: one joins the server from the browser
//	     │
//	   guard (token or certificate) ──► connections.admitRequest (body; at most 8 under way, 5 to the game)
//	     ├─ /metrics, /ticks ──► Report
//	     ├─ /sessions, kick, watch, drain, qlog ──► Ask: between two ticks, on the world's goroutine
//	     └─ /debug/pprof
//
// It reaches the server only through Config: functions that return copies, and Ask, which waits
// for the tick. The tick never waits for the port. The names and labels of metrics are stable.
package admin
