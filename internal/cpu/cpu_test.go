package cpu

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		asked string
		best  Kernels
		want  Kernels
		err   string
	}{
		{asked: "", best: AVX512, want: AVX512},
		{asked: "", best: Go, want: Go},
		{asked: "go", best: AVX512, want: Go},
		{asked: "avx2", best: AVX512, want: AVX2},
		{asked: "avx512", best: AVX512, want: AVX512},
		{asked: "avx512", best: AVX2, err: "WORLDD_KERNELS=avx512: this processor or build supports at most avx2; unset it, or set it to avx2"},
		{asked: "avx2", best: Go, err: "at most go"},
		{asked: "AVX2", best: AVX512, err: `WORLDD_KERNELS="AVX2" is unknown; unset it, or set it to one of [go avx2 avx512]`},
		{asked: "sse", best: Go, err: "one of [go]"},
	} {
		got, err := choose(c.asked, c.best)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

// TestForced: a process obeys the variable and rejects a wrong value.
func TestForced(t *testing.T) {
	if asked := os.Getenv(Variable); asked != "" {
		require.Equal(t, asked, Chosen().String())
		return
	}
	require.Equal(t, Best(), Chosen())
	self := must.Get(os.Executable())
	run := func(asked string) (string, error) {
		c := exec.Command(self, "-test.run=^TestForced$")
		c.Env = append(os.Environ(), Variable+"="+asked)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for k := Go; k <= Best(); k++ {
		out, err := run(k.String())
		require.NoError(t, err, out)
	}
	out, err := run("fast")
	require.Error(t, err)
	require.Contains(t, out, `WORLDD_KERNELS="fast" is unknown`)
}
