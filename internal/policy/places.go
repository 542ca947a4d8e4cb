package policy

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// checkPlaces checks that the table "Where is" of ARCHITECTURE.md names declarations, each in
// the file named before it.
func checkPlaces(fsys fs.FS, t *tree) (complaints []string) {
	text, err := fs.ReadFile(fsys, "ARCHITECTURE.md")
	if err != nil {
		return []string{err.Error()}
	}
	declared := map[string][]string{}
	for _, p := range t.packages {
		for _, f := range p.files {
			declared[f.path] = declarations(f.ast)
		}
	}
	_, section, _ := strings.Cut(string(text), "\n## Where is\n")
	section, _, _ = strings.Cut(section, "\n## ")
	found := 0
	for line := range strings.Lines(section) {
		file := ""
		for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
			switch name := m[1]; {
			case strings.HasSuffix(name, ".go"):
				file = name
			case slices.Contains(declared[file], name):
				found++
			default:
				complaints = append(complaints, fmt.Sprintf("ARCHITECTURE.md: %q does not declare %s", file, name))
			}
		}
	}
	if found == 0 && len(complaints) == 0 {
		complaints = append(complaints, "ARCHITECTURE.md: no table of places")
	}
	return complaints
}

// declarations returns the names that a file declares: functions, Type.method, and
// constants, variables and types.
func declarations(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + name
			}
			names = append(names, name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names = append(names, name.Name)
					}
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				}
			}
		}
	}
	return names
}

// checkTopLevel refuses everything in the root that TopLevel does not list, except files that
// git ignores: a binary built there, a profile.
func (r *Rules) checkTopLevel(fsys fs.FS) (complaints []string) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return []string{err.Error()}
	}
	ignored, _ := fs.ReadFile(fsys, ".gitignore")
	for _, e := range entries {
		leftOver := slices.ContainsFunc(strings.Fields(string(ignored)), func(pattern string) bool {
			match, _ := path.Match(strings.Trim(pattern, "/"), e.Name())
			return match
		})
		prose := !e.IsDir() && path.Ext(e.Name()) == ".md"
		if !prose && !leftOver && !slices.Contains(r.TopLevel, e.Name()) {
			complaints = append(complaints, e.Name()+": not a top-level name of this project")
		}
	}
	return complaints
}

// foreign finds names of a machine: absolute home and workplace paths, and hosts that serve
// packages. The pattern is made of pieces, so that this file does not match it.
var foreign = regexp.MustCompile(strings.Join([]string{
	`(^|[^\w.\-/:])/(` + `work|root|home|Users)/\w`,
	`\b[A-Z]:\\+` + `Users\\`,
	`\b(proxy|sum)\.` + `golang\.org\b`,
	`\bgo` + `proxy\.(io|cn)\b`,
	`\b` + `registry\.npmjs\.`,
}, "|"))

// checkForeign searches every text file for matches of foreign and for hosts.
func checkForeign(fsys fs.FS, hosts []string) (complaints []string) {
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "node_modules", "build"}, d.Name()) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || d.Name() == ".git" { // a file in a worktree
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil || slices.Contains(text, 0) { // binary
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			found := foreign.FindString(line)
			for _, h := range hosts {
				if strings.Contains(line, h) {
					found = cmp.Or(found, h)
				}
			}
			if found != "" {
				complaints = append(complaints, fmt.Sprintf("%s:%d: names %q", p, i+1, strings.TrimSpace(found)))
			}
		}
		return nil
	})
	if err != nil {
		complaints = append(complaints, err.Error())
	}
	return complaints
}

// packageHosts lists the hosts from which this machine loads packages. The project must not
// name them.
func packageHosts(proxies string) (hosts []string) {
	for _, p := range strings.FieldsFunc(proxies, func(r rune) bool { return r == ',' || r == '|' }) {
		u, err := url.Parse(strings.TrimSpace(p))
		if err != nil || u.Hostname() == "" || u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.") {
			continue
		}
		hosts = append(hosts, u.Hostname())
	}
	return hosts
}
