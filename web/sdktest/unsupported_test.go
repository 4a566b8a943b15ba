package sdktest

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// absentMethods returns the methods of a client that testdata/methods.tsv lists as
// absent, sorted.
func absentMethods(t *testing.T, client string) []string {
	t.Helper()
	list, err := readMethods()
	must(t, err)
	var out []string
	for _, m := range slices.SortedFunc(maps.Keys(list), func(a, b method) int { return strings.Compare(a.name, b.name) }) {
		if m.client == client && list[m] == notServed {
			out = append(out, m.name)
		}
	}
	if len(out) < 3 {
		t.Fatalf("only %d absent methods of %s", len(out), client)
	}
	return out
}

func TestNodeClientUnsupported(t *testing.T) {
	part(t, "clients")
	inBothModes(t, nodeClientUnsupported)
}

func nodeClientUnsupported(t *testing.T, mode compat) {
	needNode(t)
	in := start(t, mode.flags()...)
	names := absentMethods(t, nodeClient)
	got := runNode(t, in.url, in.newKey(t), "absent.mjs", map[string]string{"ABSENT": strings.Join(names, " "), "ID": someID}).errors(t)
	for _, name := range names {
		if e := got[name]; e.StatusCode != 404 || e.Name != "not_found" || !absent(e) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestGoV3ClientUnsupported calls the methods by reflection, with an id
// for every string and an empty request for every request.
func TestGoV3ClientUnsupported(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV3ClientUnsupported)
}

func goV3ClientUnsupported(t *testing.T, mode compat) {
	in := start(t, mode.flags()...)
	names := absentMethods(t, goV3Client)
	c, seen := v3Client(t, in.url, in.newKey(t))
	services := map[string]any{
		"DomainClaims": c.DomainClaims, "Emails": c.Emails,
		"OAuthGrants": c.OAuthGrants,
	}
	for _, name := range names {
		part, method, _ := strings.Cut(name, ".")
		seen.last = apiError{}
		out := callWithAnything(t.Context(), reflect.ValueOf(services[part]).MethodByName(method))
		err, _ := out[len(out)-1].Interface().(error)
		if err == nil || seen.last.StatusCode != 404 || seen.last.Name != "not_found" || !absent(seen.last) || !strings.Contains(err.Error(), seen.last.Message) {
			t.Errorf("%s: client %v, wire %+v", name, err, seen.last)
		}
	}
}

func callWithAnything(ctx context.Context, f reflect.Value) []reflect.Value {
	var in []reflect.Value
	for i := range f.Type().NumIn() {
		switch kind := f.Type().In(i); kind.Kind() {
		case reflect.Interface:
			in = append(in, reflect.ValueOf(ctx))
		case reflect.String:
			in = append(in, reflect.ValueOf(someID).Convert(kind))
		case reflect.Pointer:
			in = append(in, fillIDs(reflect.New(kind.Elem())))
		default:
			in = append(in, reflect.Zero(kind))
		}
	}
	return f.Call(in)
}

// fillIDs puts an id into every string of a request: some are checked by the
// client itself before it asks.
func fillIDs(request reflect.Value) reflect.Value {
	for i := range request.Elem().NumField() {
		if f := request.Elem().Field(i); f.Kind() == reflect.String && f.CanSet() {
			f.SetString(someID)
		}
	}
	return request
}
