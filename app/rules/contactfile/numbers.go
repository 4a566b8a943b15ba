package contactfile

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"mailer/app"
)

// Types of number columns besides number, by their decimal separator: 1,234.50 and 1.234,50. The
// digits before it may be grouped in threes.
const (
	decimalPoint = "number_point"
	decimalComma = "number_comma"
)

// isNumber reports whether the values of a type are numbers.
func isNumber(columnType string) bool {
	return columnType == string(app.NumberProperty) || columnType == decimalPoint || columnType == decimalComma
}

// groupedNumber matches a number with a decimal point, whose groups are separated by commas, blanks
// or apostrophes: only one kind of them.
var groupedNumber = regexp.MustCompile(`^[+-]?(?:\d+|\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+|\d{1,3}(?:'\d{3})+)(?:\.\d+)?$`)

// separators gives blanks and apostrophes that group digits one form each.
var separators = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ", "’", "'")

// parseNumber parses a number of a column's type.
func parseNumber(text, columnType string) (float64, error) {
	if columnType == string(app.NumberProperty) {
		// ParseFloat also accepts hexadecimal digits, underscores, Inf and NaN.
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || strings.Trim(text, "+-.0123456789eE") != "" {
			return 0, errors.New("must be a number")
		}
		return n, nil
	}
	plain, form := separators.Replace(text), "1,234.50"
	if columnType == decimalComma {
		form = "1.234,50"
		plain = strings.NewReplacer(",", ".", ".", ",").Replace(plain)
	}
	if !groupedNumber.MatchString(plain) {
		return 0, errors.New("must be a number like " + form)
	}
	n, err := strconv.ParseFloat(strings.NewReplacer(",", "", " ", "", "'", "").Replace(plain), 64)
	if err != nil { // too large
		return 0, errors.New("must be a number like " + form)
	}
	return n, nil
}
