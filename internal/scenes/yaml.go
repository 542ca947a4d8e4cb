package scenes

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// place is a position in a file, from 1; 0 is unknown. For a literal block, blockLine
// is its first line of text, and blockIndent the number of characters that YAML strips
// from each line.
type place struct {
	line, column           int
	blockLine, blockIndent int
}

func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{line: 1, column: 1}
	}
	return place{line: max(t.Position.Line, 1), column: max(t.Position.Column, 1)}
}

// readTree returns the root node of the file's only document, or nil after a complaint.
// Unused YAML features (anchors, aliases, merge keys, tags, directives, "? " keys) and
// deep nesting are rejected from the tokens, before the recursive parser runs.
func readTree(c *complaints, text string) (root ast.Node) {
	// Third-party code parses untrusted text: if it panics, reject the file instead of
	// crashing the server.
	defer func() {
		if r := recover(); r != nil {
			root = nil
			c.add(place{line: 1, column: 1}, "", fmt.Sprintf("the YAML parser gave up: %v", r), "a YAML mapping; see the example")
		}
	}()
	if !validText(c) {
		return nil
	}
	tokens := lexer.Tokenize(text)
	if !allowedTokens(c, tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		complainSyntax(c, err)
		return nil
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			c.add(placeOf(start(doc.Body)), "", "a second YAML document", "one document: one world a file")
			return nil
		}
		root = doc.Body
	}
	if root == nil {
		c.add(place{line: 1, column: 1}, "", "the file is empty", "a YAML mapping that begins with a name, for example `name: meadow`")
	}
	return root
}

func validText(c *complaints) bool {
	for i, line := range c.lines {
		column := 1
		for rest := line; rest != ""; column++ {
			r, size := utf8.DecodeRuneInString(rest)
			if r == utf8.RuneError && size == 1 {
				c.add(place{line: i + 1, column: column}, "", "this is not UTF-8", "UTF-8 text")
				return false
			}
			if r < ' ' && r != '\t' || r == 0x7f {
				c.add(place{line: i + 1, column: column}, "", fmt.Sprintf("the control character %U", r), "text without control characters")
				return false
			}
			rest = rest[size:]
		}
	}
	return true
}

// allowedTokens reports the first token that is not allowed or exceeds the limits.
func allowedTokens(c *complaints, tokens token.Tokens) bool {
	flow, keys, contents := 0, 0, 0
	for i, t := range tokens {
		p, key := placeOf(t), placeOf(t)
		refuse := func(p place, what, expected string) bool {
			c.add(p, "", what, expected)
			return false
		}
		if i >= MaxTokens {
			return refuse(p, "the file has too many parts", fmt.Sprintf("at most %d words, brackets, commas and so on", MaxTokens))
		}
		switch t.Type {
		case token.CommentType:
			continue
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return refuse(p, fmt.Sprintf("%q: a world file has no anchors, aliases or merge keys", t.Value),
				"the value itself, written out (a text that begins so must be quoted)")
		case token.TagType:
			return refuse(p, fmt.Sprintf("%q: a world file has no tags", t.Value), "the value without a tag")
		case token.DirectiveType:
			return refuse(p, "a world file has no directives", "a key, for example `name: meadow`")
		case token.DocumentHeaderType:
			if contents > 0 {
				return refuse(p, "a second YAML document", "one document: one world a file")
			}
		case token.MappingKeyType:
			return refuse(p, "`?` keys are not allowed", "`key: value`")
		case token.SequenceStartType, token.MappingStartType:
			flow++
			if flow > MaxFlowNesting {
				return refuse(p, "brackets are nested too deeply", fmt.Sprintf("at most %d", MaxFlowNesting))
			}
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.SequenceEntryType:
			if flow == 0 && p.column > MaxBlockColumn {
				return refuse(p, "this is nested too deeply", fmt.Sprintf("`- ` up to column %d", MaxBlockColumn))
			}
		case token.MappingValueType:
			if t.Prev != nil {
				key = placeOf(t.Prev)
			}
			keys++
			if keys > MaxKeys {
				return refuse(key, "the file has too many keys", fmt.Sprintf("at most %d", MaxKeys))
			}
			if flow == 0 && key.column > MaxBlockColumn {
				return refuse(key, "this is nested too deeply", fmt.Sprintf("a key up to column %d", MaxBlockColumn))
			}
		}
		contents++
	}
	return true
}

func complainSyntax(c *complaints, err error) {
	var at yaml.Error
	if !errors.As(err, &at) {
		c.add(place{line: 1, column: 1}, "", err.Error(), "YAML")
		return
	}
	expected := "well-formed YAML"
	if strings.Contains(at.GetMessage(), "already defined") {
		expected = "each key once"
	}
	c.add(placeOf(at.GetToken()), "", at.GetMessage(), expected)
}
