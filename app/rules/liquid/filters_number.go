package liquid

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// toNumber returns the number of a number or of a text; other values are 0.
func toNumber(v Value) Value {
	if v.isNumber() {
		return v
	}
	n, _ := numeric(v)
	return n
}

// numeric returns the number of a text in decimal.
func numeric(v Value) (Value, bool) {
	const longest = 300
	s := strings.TrimSpace(v.text)
	if s == "" || len(s) > longest || strings.Trim(s, "0123456789.+-") != "" {
		return integer(0), false
	}
	if _, err := strconv.ParseFloat(s, 64); err != nil {
		return integer(0), false
	}
	return number(s), true
}

// wholeNumber returns the whole part of a number within a range that can be calculated with.
func wholeNumber(v Value) int {
	const limit = 1 << 40
	return int(min(max(toNumber(v).float(), -limit), limit))
}

func numberFilter(f func(v Value) Value) *filter {
	return &filter{apply: func(_ *run, v Value, _ []Value) Value { return f(toNumber(v)) }}
}

func calculation(f func(a, b Value) Value) *filter {
	return &filter{min: 1, max: 1, apply: func(_ *run, v Value, args []Value) Value { return f(toNumber(v), toNumber(args[0])) }}
}

func absolute(v Value) Value {
	if v.kind == intKind && int64(v.bits) < 0 {
		return subtract(integer(0), v)
	}
	if v.kind == floatKind {
		return float(math.Abs(v.float()))
	}
	return v
}

// decimal returns a float without the digits that binary arithmetic adds: 0.1 + 0.2 is 0.3.
func decimal(f float64) Value {
	short, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64)
	if err != nil {
		return float(f)
	}
	return float(short)
}

// calculate calculates with integers as long as the result is exact, else with floats.
func calculate(a, b Value, whole func(x, y int64) int64, f func(x, y float64) float64) Value {
	result := f(a.float(), b.float())
	if a.kind == intKind && b.kind == intKind && math.Abs(result) < maxExact {
		return integer(whole(int64(a.bits), int64(b.bits)))
	}
	return decimal(result)
}

func add(a, b Value) Value {
	return calculate(a, b, func(x, y int64) int64 { return x + y }, func(x, y float64) float64 { return x + y })
}

func subtract(a, b Value) Value {
	return calculate(a, b, func(x, y int64) int64 { return x - y }, func(x, y float64) float64 { return x - y })
}

func multiply(a, b Value) Value {
	return calculate(a, b, func(x, y int64) int64 { return x * y }, func(x, y float64) float64 { return x * y })
}

// divide returns nil for a division by zero. Integers are rounded down.
func divide(a, b Value) Value {
	if b.float() == 0 {
		return Value{}
	}
	return calculate(a, b, func(x, y int64) int64 {
		if x%y != 0 && (x < 0) != (y < 0) {
			return x/y - 1
		}
		return x / y
	}, func(x, y float64) float64 { return x / y })
}

// modulo has the sign of the divisor.
func modulo(a, b Value) Value {
	if b.float() == 0 {
		return Value{}
	}
	return calculate(a, b, func(x, y int64) int64 { return (x%y + y) % y }, func(x, y float64) float64 { return x - y*math.Floor(x/y) })
}

// extreme returns the larger of two numbers for the sign 1, the smaller for -1.
func extreme(a, b Value, sign int) Value {
	if c, _ := compare(b, a); c*sign > 0 {
		return b
	}
	return a
}

// rounding is the direction of a rounding.
type rounding int

const (
	down rounding = iota
	up
	nearest
)

// maxDigits is the largest number of digits after the point.
const maxDigits = 15

// digits returns the digits after the point that an optional argument gives.
func digits(args []Value) int { return min(max(argument(args, 0, 0), 0), maxDigits) }

// rounded rounds a number. Without digits after the point the result is an integer.
func rounded(v Value, digits int, to rounding) Value {
	if v.kind == intKind {
		return v
	}
	f := v.float()
	switch to {
	case down:
		f = math.Floor(f)
	case up:
		f = math.Ceil(f)
	default:
		f, _ = strconv.ParseFloat(fixed(v, digits), 64)
	}
	if digits > 0 || math.Abs(f) > 1<<62 {
		return float(f)
	}
	return integer(int64(f))
}

// fixed formats a number with a number of digits after the point. Halves are rounded away from 0,
// as written in decimal: 1.005 becomes 1.01.
func fixed(v Value, digits int) string {
	s := v.plain()
	if _, fraction, _ := strings.Cut(s, "."); len(fraction) <= digits {
		if fraction == "" && digits > 0 {
			s += "."
		}
		return s + strings.Repeat("0", digits-len(fraction))
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return "0"
	}
	return r.FloatString(digits)
}

// formatNumber formats a number: digits after the point (2), the point, and the sign between
// thousands.
func formatNumber(r *run, v Value, args []Value) Value {
	point, thousands := ".", ","
	if len(args) > 1 {
		point = r.string(args[1])
	}
	if len(args) > 2 {
		thousands = r.string(args[2])
	}
	n := 2
	if len(args) > 0 {
		n = digits(args)
	}
	s, negative := strings.CutPrefix(fixed(toNumber(v), n), "-")
	whole, fraction, _ := strings.Cut(s, ".")
	if !r.fits(len(s) + len(point) + len(whole)/3*len(thousands) + 1) {
		return Value{}
	}
	var b strings.Builder
	if negative && strings.Trim(s, "0.") != "" {
		b.WriteByte('-')
	}
	for i := range len(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteString(thousands)
		}
		b.WriteByte(whole[i])
	}
	if fraction != "" {
		b.WriteString(point + fraction)
	}
	return String(b.String())
}
