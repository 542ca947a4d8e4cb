package rig

var (
	ParseScript    = parseScript
	GenerateScript = generate
)
