package field

// lowerLet lowers `let name = body`. A name is bound once.
func (c *compiler) lowerLet(s *statement) {
	name := s.target.text
	if _, ok := c.names[name]; ok {
		panic(s.line.fail(s.target.column, "another name", "the value %s already exists", name))
	}
	f := &scope{compiler: c, line: &s.line}
	v := f.lowerValue(s.body)
	c.names[name], c.kinds[name] = v.term, v.kind
}

// lowerSumExpression lowers `output += body`, or one lane of it.
func (c *compiler) lowerSumExpression(s *statement) {
	f := &scope{compiler: c, line: &s.line}
	v, of := f.lowerFactors(s.body)
	switch whole := s.target.lane == wholeVector; {
	case whole && v.kind != kindVector:
		panic(s.line.fail(s.target.column, "(x, y, z), or a lane like output.y", "output is a vector, and what is added to it is a number"))
	case !whole && v.kind != kindNumber:
		panic(s.line.fail(s.target.column, "a number, like a.x", "%s is a number, and what is added to it is a vector", s.target.spelling()))
	}
	out := term{lanes: splat(theOutput)}
	o, operands := opAdd, [4]term{out, v.term}
	if of != nil {
		o, operands = opMad, [4]term{of.vector, of.factor, out}
	}
	switch {
	case s.op.is("+="):
	case of != nil:
		o = opNmad
	default:
		o = opSub
	}
	c.lowerAccumulation(o, s.target.lane, operands)
}

// lowerAccumulation adds to the output, or to one lane of it.
func (c *compiler) lowerAccumulation(o Opcode, to int, v [4]term) {
	o, v = c.graph.sinkSum(o, v)
	for lane := range 3 {
		if to == wholeVector || to == lane {
			c.graph.sum(o, lane, [4]valueID{v[0].lanes[lane], v[1].lanes[lane], v[2].lanes[lane]})
		}
	}
}

// kindOf returns the kind of an assembly operation's result for use in expressions:
// literal numbers, and operations on numbers alone, are numbers.
func (c *compiler) kindOf(s *statement) kind {
	switch s.op.text {
	case "dot", "length":
		return kindNumber
	case "cross":
		return kindVector
	}
	for _, o := range s.operands {
		t := o.token
		if t.is("(") || t.kind == tokenWord && t.lane == wholeVector && c.kinds[t.text] == kindVector {
			return kindVector
		}
	}
	return kindNumber
}
