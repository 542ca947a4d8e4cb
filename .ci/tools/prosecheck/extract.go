package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// passage is a paragraph of prose, and where each of its lines starts in the
// file.
type passage struct {
	text  string
	lines []lineStart
	page  bool // from Markdown: its sentences are shorter
}

type lineStart struct{ offset, line int }

// line returns the file's line for an offset in text.
func (p passage) line(offset int) int {
	line := 0
	for _, start := range p.lines {
		if start.offset > offset {
			break
		}
		line = start.line
	}
	return line
}

func (p *passage) add(line int, text string) {
	if p.text != "" {
		p.text += " "
	}
	p.lines = append(p.lines, lineStart{len(p.text), line})
	p.text += strings.TrimSpace(text)
}

// name is a declared identifier.
type name struct {
	text string
	line int
}

func isChecked(file string) bool {
	if strings.Contains("/"+file, "/testdata/") || strings.HasPrefix(file, ".ci/tools/prosecheck/") {
		return false
	}
	base := path.Base(file)
	switch path.Ext(base) {
	case ".go", ".md", ".yaml", ".yml", ".service":
		return true
	}
	return base == "Dockerfile" || file == ".ci/run"
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// extract returns the prose of a file and the names it declares.
func extract(file string, content []byte) ([]passage, []name, error) {
	switch path.Ext(file) {
	case ".go":
		if generated.Match(content) {
			return nil, nil, nil
		}
		return fromGo(file, content)
	case ".md":
		return fromMarkdown(string(content)), nil, nil
	}
	return fromHashComments(string(content)), nil, nil
}

func fromGo(file string, content []byte) ([]passage, []name, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	lineOf := func(pos token.Pos) int { return files.PositionFor(pos, false).Line }
	var passages []passage
	for _, group := range tree.Comments {
		passages = append(passages, fromComments(group, lineOf)...)
	}
	var names []name
	isTest := strings.HasSuffix(file, "_test.go")
	ast.Inspect(tree, func(node ast.Node) bool {
		if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING && !isTest {
			passages = append(passages, fromString(lit.Value, lineOf(lit.Pos()))...)
		}
		for _, id := range declared(node) {
			names = append(names, name{id.Name, lineOf(id.Pos())})
		}
		return true
	})
	return passages, names, nil
}

// fromComments splits a comment group into paragraphs, without directives and
// indented code.
func fromComments(group *ast.CommentGroup, lineOf func(token.Pos) int) []passage {
	var b paragraphs
	for _, c := range group.List {
		line := lineOf(c.Pos())
		if text, ok := strings.CutPrefix(c.Text, "//"); ok {
			if text != "" && text[0] != ' ' && text[0] != '\t' {
				continue // a directive
			}
			b.add(line, strings.TrimPrefix(text, " "))
			continue
		}
		text := strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/")
		for i, part := range strings.Split(text, "\n") {
			b.add(line+i, strings.TrimLeft(part, " \t*"))
		}
	}
	return b.finish()
}

const minMessageWords = 4

// fromString returns the text of a literal that reads like a message.
func fromString(literal string, line int) []passage {
	text, err := strconv.Unquote(literal)
	if err != nil || len(strings.Fields(text)) < minMessageWords {
		return nil
	}
	var b paragraphs
	for i, part := range strings.Split(text, "\n") {
		at := line
		if literal[0] == '`' {
			at += i
		}
		if tableRow.MatchString(part) {
			b.end()
		}
		b.add(at, part)
	}
	return b.finish()
}

var tableRow = regexp.MustCompile(`\S {3,}\S`)

func declared(node ast.Node) []*ast.Ident {
	switch n := node.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		return n.Names
	case *ast.Field:
		return n.Names
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return identifiers(n.Lhs)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			return identifiers([]ast.Expr{n.Key, n.Value})
		}
	}
	return nil
}

func identifiers(exprs []ast.Expr) []*ast.Ident {
	var ids []*ast.Ident
	for _, e := range exprs {
		if id, ok := e.(*ast.Ident); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// paragraphs collects lines into passages, which end at empty and at indented
// lines and before list items.
type paragraphs struct {
	current passage
	done    []passage
	page    bool
}

var listItem = regexp.MustCompile(`^\s*([-*+]|\d+[.)])\s+`)

func (b *paragraphs) add(line int, text string) {
	if strings.TrimSpace(text) == "" {
		b.end()
		return
	}
	if item := listItem.FindString(text); item != "" {
		b.end()
		text = text[len(item):]
	} else if !b.page && (text[0] == '\t' || strings.HasPrefix(text, "    ")) {
		b.end()
		return
	}
	b.current.add(line, text)
}

func (b *paragraphs) end() {
	if b.current.text != "" {
		b.current.page = b.page
		b.done = append(b.done, b.current)
	}
	b.current = passage{}
}

func (b *paragraphs) finish() []passage {
	b.end()
	return b.done
}

// fromMarkdown takes each cell of a table as a paragraph, and leaves out fenced
// and indented code.
func fromMarkdown(text string) []passage {
	b := paragraphs{page: true}
	fenced, afterEmpty := false, true
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
			b.end()
		case fenced, afterEmpty && strings.HasPrefix(line, "    ") && listItem.FindString(line) == "":
			continue
		case strings.HasPrefix(trimmed, "|"):
			for cell := range strings.SplitSeq(trimmed, "|") {
				b.end()
				b.add(i+1, cell)
			}
			b.end()
		case strings.HasPrefix(trimmed, "#"):
			b.end()
			b.add(i+1, strings.TrimLeft(trimmed, "# "))
			b.end()
		default:
			b.add(i+1, line)
		}
		afterEmpty = trimmed == ""
	}
	return b.finish()
}

var hashComment = regexp.MustCompile(`(?:^|\s)#(?:\s(.*))?$`)

func fromHashComments(text string) []passage {
	var b paragraphs
	for i, line := range strings.Split(text, "\n") {
		match := hashComment.FindStringSubmatch(line)
		if match == nil {
			b.end()
			continue
		}
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			b.end() // it trails code
		}
		b.add(i+1, match[1])
	}
	return b.finish()
}
