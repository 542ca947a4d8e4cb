package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

func TestPartsOfAFolder(t *testing.T) {
	_, _, err := Parts{Dir: ".", Roots: []string{"Missing"}}.Check()
	require.EqualError(t, err, "policy: . has no type Missing")
	_, _, err = Parts{Dir: "missing"}.Check()
	require.Error(t, err)
}

func TestForeignWritesOfASample(t *testing.T) {
	fset := token.NewFileSet()
	f := must.Get(parser.ParseFile(fset, "sample.go", `package p
		type Viewer struct { part part; pointer *pointer; set set; tracker tracker; resync bool }
		type part struct { inner inner; list []int; n int; plain struct{ n int } }
		type inner struct { n int }
		type pointer struct { n int }
		func (i *inner) m() { i.n = 1 }
		func (p *part) m(others []*part) {
			p.n, p.list[0], p.plain.n = 1, 2, 3
			others[0].n++
			p.inner.n = 1 // of inner
		}
		func (p *pointer) m() { p.n++ }
		func (v *Viewer) m() {
			d, s := &v.part, v.pointer
			v.resync = true
			d.list[0] = 0 // of part
			s.n++ // of pointer
			n := &d.n
			*n = 1 // of part
			v.part = part{n: 2} // made, not written
		}
		type element struct { n int }
		func (e *element) set() { e.n = 1 }
		func (e element) get() int { return e.n }
		type set struct { elements []element; inner inner }
		func (s *set) m() { s.elements[0].set(); s.inner.m() }
		func (v *Viewer) n(s *set) {
			e := &v.set.elements[0]
			e.set() // of set
			v.set.inner.m() // of set
			v.set.m()
			s.m()
			_ = e.get()
		}
		type log struct { entries [3]entry; embedded }
		type entry struct { n int }
		type embedded struct { n int }
		func (e *embedded) set() { e.n = 1 }
		func (l *log) at(i int) *entry { return &l.entries[i] }
		func (l *log) add() { e := l.at(0); e.n++ }
		func (l *log) addFirst() { l.at(0).n++ }
		type tracker struct { log log; plain struct{ n int } }
		func (t *tracker) m() {
			t.log.add()
			t.log.addFirst()
			t.log.at(0).n = 1 // of log
			e := t.log.at(0)
			e.n = 1 // of log
			t.log.set()
			t.log.n = 1 // of embedded
		}
		func (v *Viewer) o() {
			v.tracker.m()
			v.tracker.log.add() // of tracker
			v.tracker.log.addFirst() // of tracker
			v.tracker.log.set() // of tracker
		}
		func free(v *Viewer, p part) {
			v.part.n = 1 // of part
			p.plain.n = 1 // of part
			for v.part.n = range 3 { // of part
			}
		}`, parser.SkipObjectResolution|parser.ParseComments))
	var want []string
	for _, c := range f.Comments {
		if strings.HasPrefix(c.Text(), "of ") {
			want = append(want, fset.Position(c.Pos()).String()[:len("sample.go:00")])
		}
	}
	var got []string
	found := must.Get(Parts{Roots: []string{"Viewer"}}.partsOf(fset, []*ast.File{f}))
	for _, at := range found.foreignWrites() {
		got = append(got, at[:len("sample.go:00")])
	}
	require.ElementsMatch(t, want, got)
}
