package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
)

type finding struct {
	path    string
	line    int
	pattern string
	excerpt string
}

// maxCommentWords and maxPageWords bound a sentence.
const (
	maxCommentWords = 45
	maxPageWords    = 40
)

// A headless clause follows a word that cannot be its antecedent, or opens a
// sentence. "client who" and "everyone who" have one.
const notAnAntecedent = `about|after|against|and|are|as|asks?|at|be|before|but|by|changes|decides?|else|finds?|for|from|holds|if|import|in|into|is|knows?|like|likes|lists|makes|marks|not|notes|of|on|only|or|out|over|refuses?|remembers|removes|returns|says?|sees?|shows?|so|stores|takes|tells?|than|that|then|to|told|up|until|wakes|was|when|where|with|without`

var phrases = []struct {
	pattern string
	match   *regexp.Regexp
}{
	{"headless-who", regexp.MustCompile(`(?i)(?:^|[.:;!?(]\s*|,\s+(?:and|or|but)\s+|\b(?:` + notAnAntecedent + `)\s+)whom?\b[^?]*?(?:[.?;:]|$)`)},
	{"headless-who", regexp.MustCompile(`(?i)\bwho(?:m)?ever\b`)},
	{"headless-what", regexp.MustCompile(`(?:^|[.;!?]\s+)What\s[^?.]*(?:[.?]|$)`)},
	{"anew", regexp.MustCompile(`(?i)\banew\b`)},
	{"that-of", regexp.MustCompile(`(?i)\b(?:that|those) of\b`)},
	{"of-chain", regexp.MustCompile(`(?i)\bof(?: [\w'-]+){1,2} of(?: [\w'-]+){1,2} of\b`)},
	{"archaic", regexp.MustCompile(`(?i)\b(?:as it were|so as to|(?:is|are|was|were) told of|had better|theirs|such that|is what|goes on|comes again|came again|whereof|whence|thence|hitherto|withal|nought|ere)\b`)},
	{"too", regexp.MustCompile(`(?i), too(?:[.;,:)]|$)`)},
}

// privateWords are words of this project's own for things that have a standard
// name. Identifiers must not contain them.
var privateWords = map[string]string{
	"door":     "admission",
	"guest":    "attempt",
	"knock":    "attempt",
	"knocks":   "attempts",
	"letter":   "tick inbox",
	"letters":  "tick inbox",
	"carried":  "connection stats",
	"swerve":   "rotation correction",
	"swerves":  "rotation corrections",
	"tally":    "histogram",
	"forecast": "prediction",
	"sift":     "filter or select",
	"bury":     "recordDeath",
	"buried":   "dead",
	"calm":     "settled",
	"mood":     "state",
	"sitting":  "session info",
	"accuse":   "recordViolation",
	"wakeful":  "willBeAwake",
}

func checkFile(file string, content []byte) ([]finding, error) {
	passages, names, err := extract(file, content)
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, p := range passages {
		found = append(found, checkPassage(file, p)...)
	}
	base := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if path.Ext(file) == ".go" {
		names = append(names, name{base, 1})
	}
	for _, n := range names {
		found = append(found, checkName(file, n)...)
	}
	return found, nil
}

func checkName(file string, n name) []finding {
	words := splitName(n.text)
	if len(words) == 1 && words[0] == "say" {
		return []finding{{file, n.line, "private-word", "say (name what it does)"}}
	}
	var found []finding
	for _, word := range words {
		if instead, ok := privateWords[word]; ok {
			found = append(found, finding{file, n.line, "private-word", fmt.Sprintf("%s (%s: %s)", n.text, word, instead)})
		}
	}
	return found
}

func checkPassage(file string, p passage) []finding {
	var found []finding
	text := blankCode(p.text)
	for _, phrase := range phrases {
		for _, at := range phrase.match.FindAllStringIndex(text, -1) {
			if isQuestion(phrase.pattern, text[at[0]:at[1]]) {
				continue
			}
			start := at[0] + len(text[at[0]:]) - len(strings.TrimLeft(text[at[0]:], " .:;!?,("))
			found = append(found, finding{file, p.line(start), phrase.pattern, excerpt(p.text, start, at[1])})
		}
	}
	limit := maxCommentWords
	if p.page {
		limit = maxPageWords
	}
	for _, s := range sentences(text) {
		if n := countWords(text[s.start:s.end]); n > limit && !isFormula(text[s.start:s.end]) {
			found = append(found, finding{file, p.line(s.start), "long-sentence", fmt.Sprintf("%d words: %s", n, excerpt(p.text, s.start, s.start+60))})
		}
	}
	return found
}

func isQuestion(pattern, match string) bool {
	return strings.HasPrefix(pattern, "headless-") && strings.HasSuffix(match, "?")
}

var inlineCode = regexp.MustCompile("`[^`]*`")

// blankCode overwrites inline code, whose words are not prose.
func blankCode(text string) string {
	return inlineCode.ReplaceAllStringFunc(text, func(code string) string {
		return strings.Repeat("x", len(code))
	})
}

type span struct{ start, end int }

var sentenceEnd = regexp.MustCompile(`[.!?][)"'*]*\s+`)

// sentences splits at full stops that a capital letter, a digit or code follows:
// "e.g. this" goes on.
func sentences(text string) []span {
	var spans []span
	start := 0
	for _, at := range sentenceEnd.FindAllStringIndex(text, -1) {
		next := []rune(text[at[1]:])
		if len(next) > 0 && unicode.IsLower(next[0]) && !strings.HasPrefix(text[at[1]:], "xx") {
			continue
		}
		spans = append(spans, span{start, at[1]})
		start = at[1]
	}
	return append(spans, span{start, len(text)})
}

var wordPattern = regexp.MustCompile(`[\pL\pN][\pL\pN'’_./-]*`)

func countWords(text string) int { return len(wordPattern.FindAllString(text, -1)) }

const minFormulaSigns = 3

// isFormula reports whether a sentence is mostly arithmetic.
func isFormula(sentence string) bool {
	signs := strings.Count(sentence, "=") + strings.Count(sentence, "·") + strings.Count(sentence, "^")
	return signs >= minFormulaSigns
}

const excerptBytes = 80

func excerpt(text string, start, end int) string {
	end = min(end, start+excerptBytes, len(text))
	return strings.TrimSpace(strings.ToValidUTF8(text[start:end], ""))
}

var nameWord = regexp.MustCompile(`[A-Z]+(?:[a-z]+)?|[a-z]+`)

func splitName(name string) []string {
	var words []string
	for _, w := range nameWord.FindAllString(name, -1) {
		words = append(words, strings.ToLower(w))
	}
	return words
}
