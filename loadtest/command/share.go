package command

import (
	"fmt"
	"strconv"
	"strings"
)

// share is a part of 1, written as a number or a percentage.
type share float64

// UnmarshalText reads 0.05 or 5%.
func (s *share) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(string(text), "%")
	n, err := strconv.ParseFloat(number, 64)
	if percent {
		n /= 100
	}
	if err != nil || !(n >= 0 && n <= 1) {
		return fmt.Errorf("%.40q: want a share from 0 to 1 or a percentage, as 0.05 or 5%%", text)
	}
	*s = share(n)
	return nil
}
