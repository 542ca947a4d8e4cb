package bot

import (
	"fmt"
	"strconv"
	"strings"
)

// Share is a flag for a part of 1, written as a number or a percentage.
type Share float64

// UnmarshalText reads 0.05 or 5%.
func (s *Share) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(string(text), "%")
	n, err := strconv.ParseFloat(number, 64)
	if percent {
		n /= 100
	}
	if err != nil || !(n >= 0 && n <= 1) {
		return fmt.Errorf("%.40q: want a share from 0 to 1 or a percentage, as 0.05 or 5%%", text)
	}
	*s = Share(n)
	return nil
}
