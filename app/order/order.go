// Package order sorts. It knows nothing of ours.
//
// slices.SortFunc is compiled once for each type that it sorts, some 15 kB of the binary
// each, and so is slices.Reverse; what is sorted here are short lists, for which one sort
// that is told how to swap is as good.
package order

import (
	"reflect"
	"sort"
)

// By sorts s by compare, which returns what cmp.Compare does. Equal ones stay in their order.
func By[T any](s []T, compare func(a, b T) int) {
	sort.SliceStable(s, func(i, j int) bool { return compare(s[i], s[j]) < 0 })
}

// Reverse turns a slice round.
func Reverse(slice any) {
	swap := reflect.Swapper(slice)
	for i, j := 0, reflect.ValueOf(slice).Len()-1; i < j; i, j = i+1, j-1 {
		swap(i, j)
	}
}
