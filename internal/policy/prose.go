package policy

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A paragraph is prose without its markup, and the line where it begins.
type paragraph struct {
	line int
	text string
}

// checkProse finds avoided wording and long sentences in comments, messages and pages, and
// pages that are too long.
func (r *Rules) checkProse(t *tree) (complaints []string) {
	wording, err := parseWording(r.Wording)
	if err != nil {
		return []string{err.Error()}
	}
	check := func(p string, list []paragraph) {
		for _, c := range list {
			for _, found := range r.judge(wording, path.Ext(p), c.text) {
				if !slices.ContainsFunc(r.Quotations, func(q string) bool { return isQuoted(q, p, c.text) }) {
					complaints = append(complaints, fmt.Sprintf("%s:%d: %s", p, c.line, found))
				}
			}
		}
	}
	for _, f := range t.all {
		if !ast.IsGenerated(f.ast) {
			check(f.path, goProse(f))
		}
	}
	for _, f := range t.texts {
		switch {
		case isGeneratedText(f.content):
		case path.Ext(f.path) == ".ts":
			check(f.path, scriptProse(f.content))
		default:
			check(f.path, pageProse(f.content))
			if n, most := len(word.FindAllString(f.content, -1)), r.PageWords[f.path]; most > 0 && n > most {
				complaints = append(complaints, fmt.Sprintf("%s: %d words, at most %d", f.path, n, most))
			}
		}
	}
	return complaints
}

// A construction is wording to avoid.
type construction struct {
	name  string
	match *regexp.Regexp
}

func parseWording(lines string) (list []construction, err error) {
	for line := range strings.Lines(lines) {
		name, pattern, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		match, err := regexp.Compile(`(?i)` + strings.TrimSpace(pattern))
		if err != nil {
			return nil, fmt.Errorf("wording %s: %w", name, err)
		}
		list = append(list, construction{name, match})
	}
	return list, nil
}

func isQuoted(quotation, p, text string) bool {
	file, quote, _ := strings.Cut(quotation, ": ")
	return file == p && strings.Contains(text, quote)
}

var (
	codeSpan    = regexp.MustCompile("`([^`]+)`")
	sentenceEnd = regexp.MustCompile(`[.!?][)"'*]*\s+[A-Z0-9x(\["*]`) // "e.g. this" continues; x begins a code span
	word        = regexp.MustCompile(`[\pL\pN][\pL\pN'’_./-]*`)
	formulaSign = regexp.MustCompile(`[=·^]`)
)

// judge returns what is wrong with a paragraph. A formula may be long.
func (r *Rules) judge(wording []construction, ext, text string) (found []string) {
	text = codeSpan.ReplaceAllStringFunc(text, func(code string) string { return strings.Repeat("x", len(code)) })
	for _, c := range wording {
		if at := c.match.FindString(text); at != "" && !strings.HasSuffix(at, "?") {
			found = append(found, c.name+": "+strings.TrimSpace(at))
		}
	}
	for _, s := range sentenceEnd.Split(text, -1) {
		if n := len(word.FindAllString(s, -1)); n > r.MaxSentence[ext] && len(formulaSign.FindAllString(s, -1)) < 3 {
			found = append(found, fmt.Sprintf("a sentence of %d words: %.60s", n, s))
		}
	}
	return found
}

// goProse returns the comments of a file and, unless it is a test, its messages: string
// literals of four words.
func goProse(f file) (list []paragraph) {
	for _, group := range f.ast.Comments {
		var lines []string
		for _, c := range group.List {
			lines = append(lines, strings.Split(c.Text, "\n")...)
		}
		list = append(list, commentProse(f.fset.Position(group.Pos()).Line, lines)...)
	}
	if strings.HasSuffix(f.path, "_test.go") {
		return list
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		message, err := strconv.Unquote(literal.Value)
		if err == nil && len(strings.Fields(message)) >= 4 {
			list = append(list, split(f.fset.Position(literal.Pos()).Line, strings.Split(message, "\n"), false)...)
		}
		return true
	})
	return list
}

// scriptProse returns the comments of a TypeScript file that begin a line.
func scriptProse(content string) (list []paragraph) {
	var comment []string
	for i, line := range append(strings.Split(content, "\n"), "") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "//") || strings.HasPrefix(trimmed, "/*") || strings.HasPrefix(trimmed, "* ") || trimmed == "*" {
			comment = append(comment, trimmed)
			continue
		}
		list = append(list, commentProse(i+1-len(comment), comment)...)
		comment = nil
	}
	return list
}

var commentMark = regexp.MustCompile(`^\s*(//|/\*\*?|\*/|\* ?)?`)

func commentProse(line int, lines []string) []paragraph {
	stripped := make([]string, len(lines))
	for i, l := range lines {
		stripped[i] = strings.TrimPrefix(strings.TrimSuffix(commentMark.ReplaceAllString(l, ""), "*/"), " ")
		if strings.HasPrefix(l, "//") && len(l) > 2 && l[2] != ' ' && l[2] != '\t' {
			stripped[i] = "" // a directive
		}
	}
	return split(line, stripped, false)
}

func pageProse(content string) []paragraph {
	lines := strings.Split(content, "\n")
	fenced := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence {
			fenced = !fenced
		}
		if fence || fenced {
			lines[i] = ""
		}
	}
	return split(1, lines, true)
}

var listItem = regexp.MustCompile(`^\s*([-*+]|\d+[.)]|#+|@\w+)\s+`)

// split cuts lines into paragraphs, at empty lines, list items, headings and cells of
// tables. It leaves out indented code.
func split(first int, lines []string, page bool) (list []paragraph) {
	current := paragraph{}
	end := func() {
		if current.text != "" {
			list = append(list, current)
		}
		current = paragraph{}
	}
	for i, line := range lines {
		item := listItem.FindString(line)
		indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ")
		code := item == "" && indented && (!page || current.text == "")
		if line == "" || item != "" || code || strings.HasPrefix(line, "|") {
			end()
		}
		if code {
			continue
		}
		for _, cell := range strings.Split(strings.TrimPrefix(line, item), "|") {
			if strings.HasPrefix(line, "|") {
				end()
			}
			if current.text == "" {
				current.line = first + i
			}
			current.text = strings.TrimSpace(current.text + " " + strings.TrimSpace(cell))
		}
		if strings.HasPrefix(item, "#") {
			end()
		}
	}
	end()
	return list
}

var generated = regexp.MustCompile(`(?m)^// Code generated .*DO NOT EDIT\.$`)

func isGeneratedText(content string) bool { return generated.MatchString(content) }
