package field

import (
	"fmt"
	"strings"
)

// A node is a part of an expression.
type node struct {
	kind  nodeKind
	token token // name, number or sign; the position of errors
	args  []*node
}

type nodeKind uint8

const (
	nodeNumber  nodeKind = iota
	nodeName             // a vector or a number
	nodeLane             // token.lane of its argument
	nodeNegate           // of its argument
	nodeBinary           // + - * /
	nodeCompare          // < > <= >=
	nodeVector           // of three or four numbers
	nodeCall             // of a function
)

// An expressionParser parses an expression with one token of lookahead.
type expressionParser struct {
	line  *line
	token token
	depth int // nesting of parentheses, calls and signs
}

const expressionStart = "a number, a name, a function, a vector like (x, y, z) or a parenthesis"

// expression parses the rest of the line as an expression.
func (l *line) expression() *node {
	p := &expressionParser{line: l}
	p.advance()
	n := p.comparison()
	if p.token.kind != tokenEnd {
		panic(p.line.unexpected(p.token, "+ - * /, or the end of the line"))
	}
	return n
}

func (p *expressionParser) advance() { p.token = p.line.nextInExpression() }

// comparison parses a < b, or just a. Comparisons do not chain.
func (p *expressionParser) comparison() *node {
	left := p.sum()
	if !p.token.is("<") && !p.token.is(">") && !p.token.is("<=") && !p.token.is(">=") {
		return left
	}
	n := &node{kind: nodeCompare, token: p.token}
	p.advance()
	n.args = []*node{left, p.sum()}
	return n
}

func (p *expressionParser) sum() *node     { return p.chain("+", "-", (*expressionParser).product) }
func (p *expressionParser) product() *node { return p.chain("*", "/", (*expressionParser).signed) }

// chain parses operands joined by either of two signs, left-associative.
func (p *expressionParser) chain(one, other string, operand func(*expressionParser) *node) *node {
	left := operand(p)
	for p.token.is(one) || p.token.is(other) {
		n := &node{kind: nodeBinary, token: p.token}
		p.advance()
		n.args = []*node{left, operand(p)}
		left = n
	}
	return left
}

// signed parses an operand with leading minus signs and trailing lanes.
func (p *expressionParser) signed() *node {
	p.depth++
	if p.depth > MaxDepth {
		panic(p.line.fail(p.token.column, `a name for a part of it: "let part = ..."`, "the expression is nested deeper than %d", MaxDepth))
	}
	defer func() { p.depth-- }()
	if p.token.is("-") {
		n := &node{kind: nodeNegate, token: p.token}
		p.advance()
		operand := p.signed()
		if operand.kind == nodeNumber {
			operand.token.value = -operand.token.value // -2 and -0 are literals
			return operand
		}
		n.args = []*node{operand}
		return n
	}
	n := p.primary()
	for p.token.is(".") && n.kind != nodeNumber { // numbers have no lanes
		n = p.lane(n)
	}
	return n
}

// lane parses a lane after a parenthesis.
func (p *expressionParser) lane(of *node) *node {
	dot := p.token
	p.advance()
	lane := laneOf(p.token.spelling())
	if p.token.kind != tokenWord || lane < 0 {
		panic(p.line.unexpected(p.token, "x, y, z or w after the dot"))
	}
	p.advance()
	dot.lane = lane
	return &node{kind: nodeLane, token: dot, args: []*node{of}}
}

func (p *expressionParser) primary() *node {
	t := p.token
	switch {
	case t.kind == tokenNumber:
		p.advance()
		return &node{kind: nodeNumber, token: t}
	case t.kind == tokenWord:
		p.advance()
		return p.name(t)
	case t.is("("):
		args := p.arguments()
		switch len(args) {
		case 1:
			return args[0]
		case 3, 4:
			return &node{kind: nodeVector, token: t, args: args}
		}
		panic(p.line.fail(t.column, "(a) or (x, y, z), or (x, y, z, w)", "%d values in parentheses", len(args)))
	}
	panic(p.line.unexpected(t, expressionStart))
}

// name parses a word: a call if a parenthesis follows.
func (p *expressionParser) name(t token) *node {
	if p.token.is("(") {
		if t.lane != wholeVector {
			panic(p.line.fail(t.column, "", "%s is not a function", t.spelling()))
		}
		return &node{kind: nodeCall, token: t, args: p.arguments()}
	}
	n := &node{kind: nodeName, token: t}
	if t.lane != wholeVector {
		whole := t
		whole.lane = wholeVector
		n = &node{kind: nodeLane, token: t, args: []*node{{kind: nodeName, token: whole}}}
	}
	return n
}

// arguments parses a list in parentheses, from the opening parenthesis on.
func (p *expressionParser) arguments() (args []*node) {
	for {
		p.advance()
		args = append(args, p.comparison())
		switch {
		case p.token.is(")"):
			p.advance()
			return args
		case !p.token.is(","):
			panic(p.line.unexpected(p.token, `+ - * /, "," or ")"`))
		case len(args) == MaxArguments:
			panic(p.line.fail(p.token.column, `")"`, "more than %d values in parentheses", MaxArguments))
		}
	}
}

// nextInExpression scans a token of an expression, where + and - are separate tokens.
func (l *line) nextInExpression() token {
	l.skipBlanks()
	if l.at == len(l.source) || strings.HasPrefix(l.source[l.at:], "//") {
		return l.next()
	}
	start, c := l.at, l.source[l.at]
	length := 0
	switch {
	case strings.IndexByte("<>+-", c) >= 0 && strings.HasPrefix(l.source[start+1:], "="):
		length = 2
	case strings.HasPrefix(l.source[start:], between):
		length = len(between)
	case c == '.' && (start+1 == len(l.source) || !isDigit(l.source[start+1])):
		length = 1
	case c == '+' || c == '-' || c == '*' || c == '/' || c == '<' || c == '>':
		length = 1
	default:
		return l.next()
	}
	l.at += length
	return token{kind: tokenSign, text: l.source[start:l.at], lane: wholeVector, column: start + 1}
}

func (l *line) skipBlanks() {
	for l.at < len(l.source) && (l.source[l.at] == ' ' || l.source[l.at] == '\t') {
		l.at++
	}
}

// laneOf returns a lane's number by its name, or -1.
func laneOf(name string) int {
	for i := range len(laneNames) {
		if laneNames[i:i+1] == name {
			return i
		}
	}
	return -1
}

// String returns the expression fully parenthesised, for Explain and tests.
func (n *node) String() string {
	list := func(open string) string {
		for i, a := range n.args {
			if i > 0 {
				open += ", "
			}
			open += a.String()
		}
		return open + ")"
	}
	switch n.kind {
	case nodeNumber:
		return spell(n.token.value)
	case nodeName:
		return n.token.text
	case nodeLane:
		return n.args[0].String() + "." + laneNames[n.token.lane:][:1]
	case nodeNegate:
		return "(-" + n.args[0].String() + ")"
	case nodeVector:
		return list("(")
	case nodeCall:
		return list(n.token.text + "(")
	}
	return fmt.Sprintf("(%v %s %v)", n.args[0], n.token.text, n.args[1])
}
