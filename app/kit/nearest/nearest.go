// Package nearest suggests the name that a mistyped word was meant to be. It has no dependencies
// within the module.
package nearest

// Of returns the name with the smallest edit distance from word if it is near enough (Near),
// otherwise "".
func Of(word string, names []string) (name string) {
	best := -1
	for _, candidate := range names {
		if d := Distance(word, candidate); best < 0 || d < best {
			best, name = d, candidate
		}
	}
	return name
}

// Near reports whether the edit distance of word and name is so small that the name was probably
// meant.
func Near(word, name string) bool {
	return name != "" && Distance(word, name) <= max(2, min(len(word), len(name))/3)
}

// Distance returns the Levenshtein distance of a and b in bytes.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
