// Package worldd_test holds the rules of the project as a test: the import graph, banned
// calls, file sizes, forms of code and prose. A change that needs another rule changes the
// rule here, and says why in its commit. Package internal/policy has the checkers.
package worldd_test

import (
	"os"
	"testing"

	"github.com/worldd/worldd/internal/policy"
)

// graph: a package, then everything that it may import besides the standard
// library and internal/invariants. Test files are free. A package that is not
// listed may not exist. C is cgo.
const graph = `
internal/address
internal/commandline internal/printable internal/regularfile internal/spelling kong
internal/bitio
internal/rowschema  bulk internal/bitio replication/schema replication/wire
internal/rowcodec   internal/bitio internal/rowschema replication/wire replication/schema
internal/rowtrain   internal/bitio internal/rowcodec replication/schema internal/rowschema
internal/rowtest    bulk internal/bitio internal/rowcodec replication/schema internal/rowschema
internal/wiretest   bulk internal/bitio internal/rowcodec internal/rowtest replication/schema replication/wire internal/rowschema
internal/invariants
internal/racetest
internal/shorttest
internal/alloctest
internal/printable
internal/policy
internal/must
internal/loopback
internal/mutate
internal/recent
internal/simtest
internal/stage      bulk client internal/bitio internal/must internal/rowcodec internal/rowschema internal/simtest replication/schema replication/wire world
internal/browsertest
internal/programtest
internal/storetest   server/cluster
internal/restart
internal/evolution
internal/fault
internal/fault/overlay internal/fault
internal/cpu        x/sys
internal/columns    bulk internal/cpu x/sys
internal/spelling
internal/cstruct    replication/schema
internal/fieldtag   internal/spelling
internal/atomicfile natefinch
internal/disk       internal/atomicfile internal/regularfile flock
internal/disktest   internal/disk
internal/regularfile
internal/vectors    bulk client replication/wire replication/schema world/motion internal/rowschema
internal/scenes/steering replication/schema
internal/scenes/messages bulk internal/scenes/steering replication/schema
internal/scenes     bulk field internal/scenes/messages internal/scenes/steering internal/regularfile internal/spelling world yaml
internal/scenes/rules internal/scenes internal/scenes/messages internal/scenes/steering replication/schema replication/wire server world
internal/scenes/bots bulk client internal/recent internal/scenes/messages internal/scenes/steering loadtest/bot replication/schema replication/wire internal/rowschema
internal/effectfile  field internal/regularfile
internal/fieldrender field x/image
internal/fieldrender/effectrender field internal/atomicfile internal/commandline internal/effectfile internal/fieldrender internal/spelling

internal/bench/codec          bulk replication/wire internal/bitio internal/rowcodec internal/rowtrain replication/schema internal/rowschema
internal/bench/quic           quic-go
internal/bench/peers          client msgpack quic-go replication replication/schema server websocket world x/sys/unix
internal/bench/field
internal/bench/field/fused    C
internal/bench/field/fastmath C internal/bench/field/fused

bulk                internal/cpu x/sys
field               internal/cpu internal/spelling x/sys
world/motion        field internal/columns
world               bulk field internal/columns internal/fieldtag world/motion xxhash zstd
replication/wire    bulk msgpack internal/bitio internal/printable
replication/wire/conformance
replication/schema  bulk internal/bitio internal/fieldtag internal/printable replication/wire
replication         bulk world world/motion field replication/wire internal/bitio internal/rowcodec replication/schema internal/rowschema
server/token        paseto flock internal/atomicfile internal/regularfile
server/session      bulk world replication replication/wire x/time replication/schema internal/rowschema
server/session/simulation
internal/wslink      replication/wire quic-go websocket
internal/quicserve  replication/wire server/session internal/atomicfile internal/regularfile internal/wslink quic-go webtransport websocket zap x/sys/unix x/time
internal/admin      internal/address internal/cpu internal/printable internal/quicserve replication replication/wire server/session world hdrhistogram prometheus zap replication/schema
server              internal/address internal/admin internal/atomicfile internal/printable internal/quicserve replication replication/schema replication/wire server/imagefile server/session world hdrhistogram prometheus quic-go x/time zap
client/python
client/c            C bulk client internal/cstruct replication/schema replication/wire
client/c/engines
client/ts/bundle    esbuild
client/internal/work   replication/wire
client/internal/bodies bulk field client/internal/work internal/bitio replication/schema replication/wire world/motion internal/rowschema
client/internal/predict bulk client/internal/bodies client/internal/work replication/schema world/motion internal/rowschema
client              bulk client/internal/bodies client/internal/predict client/internal/work world/motion replication/wire quic-go websocket zap internal/address internal/bitio internal/printable internal/rowcodec internal/wslink replication/schema internal/rowschema
loadtest/rig        client internal/simtest replication/wire server server/session world
loadtest/bot        bulk client replication/schema replication/wire
internal/botrun     bulk client internal/printable internal/recent internal/rowcodec internal/rowschema internal/spelling loadtest/bot replication/schema replication/wire server/token hdrhistogram quic-go zap
internal/botrun/page internal/atomicfile internal/botrun internal/printable
loadtest/command    client internal/address internal/atomicfile internal/botrun internal/botrun/page internal/commandline internal/printable internal/regularfile loadtest/bot server/token hdrhistogram kong prommodel promtext zap
loadtest            internal/commandline internal/scenes/bots loadtest/command
cmd/worldd          field internal/atomicfile internal/effectfile internal/regularfile internal/scenes internal/scenes/bots internal/scenes/messages internal/scenes/rules internal/spelling loadtest/bot replication server server/host world
server/host         client field internal/address internal/admin internal/atomicfile internal/bitio internal/botrun internal/botrun/page internal/commandline internal/cpu internal/cstruct internal/printable internal/regularfile internal/rowcodec internal/rowtrain internal/spelling loadtest/bot loadtest/command loadtest/rig replication replication/schema replication/wire server server/agones server/cluster server/cluster/etcd server/cluster/link server/cluster/nodefile server/imagefile server/session server/token world kong prometheus systemd x/term zap internal/rowschema
server/host/examples/coins client loadtest/bot replication/schema server server/host world
server/host/examples/neighbours client loadtest/bot replication/schema server server/host world
server/traces       server otel
server/outbox       replication/wire server world
server/cluster      zap
server/cluster/etcd internal/regularfile server/cluster zap
server/agones       zap
server/cluster/nodefile internal/atomicfile internal/disk server/cluster
server/cluster/engine etcd internal/commandline
server/cluster/s3   minio server server/imagefile
server/cluster/link quic-go zap
server/host/examples/accounts pgx replication/schema replication/wire server server/host server/outbox world
server/host/examples/cookbook
server/host/examples/arena bulk client field loadtest/bot loadtest/rig replication replication/schema replication/wire server server/host world world/motion
server/imagefile    internal/atomicfile internal/disk world
`

// modules: the third parties by the names used above, and the version for those
// that must not move without a decision (RATIONALE.md says what breaks).
const modules = `
esbuild      github.com/evanw/esbuild
etcd         go.etcd.io/etcd
flock        github.com/gofrs/flock
hdrhistogram github.com/HdrHistogram/hdrhistogram-go
kong         github.com/alecthomas/kong
minio        github.com/minio/minio-go/v7
natefinch    github.com/natefinch/atomic
pgx          github.com/jackc/pgx/v5
otel         go.opentelemetry.io/otel
msgpack      github.com/vmihailenco/msgpack/v5         v5.3.6
paseto       aidanwoods.dev/go-paseto
prometheus   github.com/prometheus/client_golang
promtext     github.com/prometheus/common
prommodel    github.com/prometheus/client_model/go
quic-go      github.com/quic-go/quic-go                v0.64.1
systemd      github.com/coreos/go-systemd/v22/daemon
websocket    github.com/coder/websocket
webtransport github.com/quic-go/webtransport-go        v0.13.0
x/image      golang.org/x/image
x/sys        golang.org/x/sys/cpu
x/sys/unix   golang.org/x/sys/unix
x/term       golang.org/x/term
x/time       golang.org/x/time/rate
yaml         github.com/goccy/go-yaml
xxhash       github.com/cespare/xxhash/v2
zap          go.uber.org/zap
zstd         github.com/klauspost/compress/zstd
`

// benchModule holds the yardsticks: a module of its own, under the same rules, that
// nothing outside of it imports.
const benchModule = "internal/bench"

// toolModules are modules of one command each, whose dependencies users of worldd do without.
var toolModules = []string{"client/c", "client/ts/bundle", "internal/fieldrender", "server/cluster/engine", "server/cluster/s3", "server/host/examples/accounts", "server/traces"}

// independent: files, also of tests, that are written from the protocol's pages alone, and all that they
// may use of this module: handles, and the types in which what they read is compared.
const independent = `
replication/wire/conformance/page_ bulk.Handle bulk.NewHandle internal/rowschema.Row replication/wire.BodyState replication/wire.Exact replication/wire.Form replication/wire.Input replication/wire.Op replication/wire.Ordinary replication/wire.Reason replication/wire.Record replication/wire.TickInput
`

// pure: packages to which time, randomness and the link are arguments.
var pure = []string{"bulk", "field", "world/motion", "world", "replication", "replication/wire", "server/session", "server/cluster", "loadtest/rig", "internal/bitio", "internal/rowcodec", "internal/rowtrain", "replication/schema"}

// banned, in pure packages, by import path: the names that may not be used, or
// with a leading "!" the only ones that may. None means the whole package.
var banned = map[string][]string{
	"time":         {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"},
	"context":      {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
	"math/rand":    {"!New", "!NewSource", "!NewZipf", "!Rand", "!Source", "!Source64", "!Zipf"},
	"math/rand/v2": {"!New", "!NewPCG", "!NewChaCha8", "!NewZipf", "!Rand", "!Source", "!PCG", "!ChaCha8", "!Zipf"},
	"crypto/rand":  nil,
	"net":          nil,
}

// onTime: packages that tell time, and must not care if the wall clock is set; with
// the files that are to: names of files, times in metrics, and whether certificates and tokens are
// good, which is other machines' time too (server/token).
var (
	onTime     = []string{"internal/admin", "internal/quicserve", "server", "client", "loadtest/command", "internal/botrun", "server/host", "cmd/worldd"}
	wallClocks = []string{"internal/admin/metrics.go", "internal/quicserve/qlog.go"}
)

// surface: the packages whose Go names are promised to users (CONTRIBUTING.md), and the most
// functions, methods and types that each may export. Users learn, and each release keeps, every
// one of them: lower the number when one goes, and give a reason for one that comes.
const surface = `
bulk                 68
client              135
field                42
loadtest/bot         12
loadtest/rig         28
replication/schema   75
server              114
server/host          16
server/outbox        16
server/token         12
world               205
`

// topLevel is everything that may lie in the root, besides *.md.
var topLevel = []string{
	".ci", ".git", ".gitignore", "LICENSE", "go.mod", "go.sum", "policy_test.go",
	"bulk", "client", "cmd", "field", "internal", "loadtest", "replication", "server", "world",
}

// wording lists constructions that prose avoids: a name, then a regular expression. STYLE: a subject, an active
// verb, the standard term; no pronoun without its noun.
const wording = `
headless-who  (?:^|[.:;!?(] *|, (?:and|or|but) |\b(?:about|as|at|but|by|for|from|if|is|of|only|than|then|to|until|when|with|without) )whom?\b[^?]*?(?:[.?;:]|$)
headless-what (?:^|[.;!] )(?-i:What) [^?.]*(?:[.?]|$)
whoever       \bwhom?ever\b
anew          \banew\b
that-of       \b(?:that|those) of\b
of-chain      \bof(?: [\w'-]+){1,2} of(?: [\w'-]+){1,2} of\b
archaic       \b(?:as it were|so as to|(?:is|are|was|were) told of|had better|theirs|such that|is what|goes on|comes again|came again|whereof|whence|thence|hitherto|withal|nought|ere)\b
elided-noun   \b(?:likewise|as of)\b|\b(?:that one|of those)[.,;:)]
trailing-too  , too(?:[.;,:)]|$)
`

// quotations are texts that wording and the length of sentences do not judge.
var quotations = []string{
	"internal/botrun/summary.go: anew",       // golden output
	"replication/README.md: goes on",         // the names of vectors
	"server/host/inspect.go: rows coded",     // a table of figures
	"bulk/RATIONALE.md: 100,000 structs, ns", // the same
}

var rules = policy.Rules{
	Module:   "github.com/worldd/worldd",
	Language: "1.26",
	Graph:    graph, Everywhere: "internal/invariants", Modules: modules,
	BenchModule: benchModule, Independent: independent, ToolModules: toolModules,
	Pure: pure, Banned: banned, OnTime: onTime, WallClocks: wallClocks,
	Surface: surface, TopLevel: topLevel,
	MaxLines: map[string]int{".go": 800, ".ts": 500},
	Wording:  wording, Quotations: quotations,
	PageWords:    map[string]int{"README.md": 1700, "BENCHMARKS.md": 4700},
	MaxSentence:  map[string]int{".go": 45, ".ts": 45, ".md": 40},
	PrivateWords: []string{"accuse", "bury", "knock", "knocks", "mood", "swerve", "tally", "wakeful", "wish", "wishes"},
}

func TestPolicy(t *testing.T) {
	for _, r := range rules.Check(os.DirFS("."), os.Getenv("GOPROXY")) {
		t.Run(r.Check, func(t *testing.T) {
			for _, complaint := range r.Complaints {
				t.Error(complaint)
			}
		})
	}
}
