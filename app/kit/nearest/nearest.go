// Package nearest finds which of several names somebody meant who mistyped one. It knows
// nothing of ours, and everything may import it.
package nearest

// Of returns the one of names that is reached from word with the fewest letters
// put in, left out or changed; empty: there is none.
func Of(word string, names []string) (name string) {
	best := -1
	for _, candidate := range names {
		if d := Distance(word, candidate); best < 0 || d < best {
			best, name = d, candidate
		}
	}
	return name
}

// Near reports whether a name is so near to a word that it is probably meant.
func Near(word, name string) bool {
	return name != "" && Distance(word, name) <= max(2, min(len(word), len(name))/3)
}

// Distance is how many letters have to be put in, left out or changed between two
// words: that of Levenshtein, in bytes.
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
