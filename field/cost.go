package field

// NanosecondsPerPoint estimates what a point of the effect costs this process, with the
// kernels that it chose: by the operations that the effect takes, to within a factor of
// two or three. It is for warnings; to know, measure.
func (p *Program) NanosecondsPerPoint() float64 {
	if p.placed != nil {
		return float64(p.placed.blockNanoseconds()) / BlockPoints
	}
	sum := 0.0
	for _, in := range p.code[p.preloads:] {
		switch in.op { // measured, without assembly
		case opExp2:
			sum += 16
		case opSin:
			sum += 8
		case opRsqrt:
			sum += 4
		default:
			sum++
		}
	}
	return sum
}
