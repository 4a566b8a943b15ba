package liquid

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// numeric matches a text that counts as a number.
var numeric = regexp.MustCompile(`^\s*[+-]?[0-9]{1,300}(\.[0-9]{1,300})?\s*$`)

// toNumber returns the number of a number or of a text; other values are 0.
func toNumber(v Value) Value {
	switch {
	case v.isNumber():
		return v
	case v.kind == stringKind && numeric.MatchString(v.text):
		return number(strings.TrimPrefix(strings.TrimSpace(v.text), "+"))
	}
	return integer(0)
}

// toInteger returns the whole part of a number within the range of integers.
func toInteger(v Value) Value {
	v = toNumber(v)
	if v.kind == intKind {
		return v
	}
	const limit = 1 << 62
	return integer(int64(min(max(v.float(), -limit), limit)))
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

// integers calculates with two integers; the result is a float if it is too large.
func integers(a, b Value, f func(z, x, y *big.Int) *big.Int) (Value, bool) {
	if a.kind != intKind || b.kind != intKind {
		return Value{}, false
	}
	z := f(new(big.Int), big.NewInt(int64(a.bits)), big.NewInt(int64(b.bits)))
	if !z.IsInt64() {
		large, _ := new(big.Float).SetInt(z).Float64()
		return float(large), true
	}
	return integer(z.Int64()), true
}

func add(a, b Value) Value {
	if v, ok := integers(a, b, (*big.Int).Add); ok {
		return v
	}
	return decimal(a.float() + b.float())
}

func subtract(a, b Value) Value {
	if v, ok := integers(a, b, (*big.Int).Sub); ok {
		return v
	}
	return decimal(a.float() - b.float())
}

func multiply(a, b Value) Value {
	if v, ok := integers(a, b, (*big.Int).Mul); ok {
		return v
	}
	return decimal(a.float() * b.float())
}

// divide returns nil for a division by zero. Integers are rounded down.
func divide(a, b Value) Value {
	if b.float() == 0 {
		return Value{}
	}
	v, ok := integers(a, b, func(z, x, y *big.Int) *big.Int {
		remainder := new(big.Int)
		z.QuoRem(x, y, remainder)
		if remainder.Sign()*y.Sign() < 0 {
			z.Sub(z, big.NewInt(1))
		}
		return z
	})
	if ok {
		return v
	}
	return decimal(a.float() / b.float())
}

// modulo has the sign of the divisor.
func modulo(a, b Value) Value {
	if b.float() == 0 {
		return Value{}
	}
	if a.kind == intKind && b.kind == intKind {
		return subtract(a, multiply(divide(a, b), b))
	}
	x, y := a.float(), b.float()
	return decimal(x - y*math.Floor(x/y))
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
	r, ok := new(big.Rat).SetString(v.plain())
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
