// Command sbom lists what a release consists of, as a CycloneDX document (JSON):
//
//	sbom -version VERSION -epoch SECONDS -binary BINARY -lock package-lock.json -out FILE
//
// It contains the Go toolchain and modules of the binary, the npm packages of the dashboard's
// bundles, and its fonts. Equal arguments make equal bytes.
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	log.SetFlags(0)
	version := flag.String("version", "", "version of the release")
	epoch := flag.Int64("epoch", 0, "time of the document, in seconds since 1970")
	binary := flag.String("binary", "", "program of the release")
	lock := flag.String("lock", "", "package-lock.json of the dashboard's bundles")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if err := write(*out, *version, *binary, *lock, time.Unix(*epoch, 0)); err != nil {
		log.Fatal("sbom: ", err)
	}
}

func write(out, version, binary, lock string, at time.Time) error {
	modules, err := goModules(binary)
	if err != nil {
		return err
	}
	packages, err := npmPackages(lock)
	if err != nil {
		return err
	}
	components := slices.Concat(modules, packages, []cyclonedx.Component{
		{Type: cyclonedx.ComponentTypeFile, BOMRef: "font:inter", Name: "Inter", Licenses: licence("OFL-1.1"),
			ExternalReferences: &[]cyclonedx.ExternalReference{{Type: cyclonedx.ERTypeWebsite, URL: "https://rsms.me/inter/"}}},
	})
	slices.SortFunc(components, func(a, b cyclonedx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: at.UTC().Format(time.RFC3339),
		Component: &cyclonedx.Component{Type: cyclonedx.ComponentTypeApplication, BOMRef: "mailer", Name: "mailer", Version: version, Licenses: licence("MIT")},
	}
	bom.Components = &components
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return f.Close()
}

func licence(id string) *cyclonedx.Licenses {
	return &cyclonedx.Licenses{{License: &cyclonedx.License{ID: id}}}
}

// goModules returns the toolchain and the modules that a program was built from.
func goModules(binary string) ([]cyclonedx.Component, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	list := []cyclonedx.Component{component("golang", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, component("golang", m.Path, m.Version))
	}
	return list, nil
}

// npmPackages returns the packages of a lock file that are not for development.
func npmPackages(lock string) ([]cyclonedx.Component, error) {
	text, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	var file struct {
		Packages map[string]struct {
			Version, Integrity, License string
			Dev, DevOptional, Link      bool
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
	}
	var list []cyclonedx.Component
	known := map[string]bool{}
	for path, p := range file.Packages {
		_, name, ok := cutLast(path, "node_modules/")
		if !ok || p.Dev || p.DevOptional || p.Link {
			continue
		}
		c := component("npm", name, p.Version)
		if known[c.BOMRef] {
			continue // installed in several folders
		}
		known[c.BOMRef] = true
		if p.License != "" {
			c.Licenses = &cyclonedx.Licenses{{Expression: p.License}}
		}
		if sum, ok := strings.CutPrefix(p.Integrity, "sha512-"); ok {
			raw, err := base64.StdEncoding.DecodeString(sum)
			if err != nil {
				return nil, fmt.Errorf("%s: integrity of %s: %w", lock, name, err)
			}
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA512, Value: hex.EncodeToString(raw)}}
		}
		list = append(list, c)
	}
	return list, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// component returns a library with its package URL.
func component(kind, name, version string) cyclonedx.Component {
	path := strings.Split(name, "/")
	for i := range path {
		path[i] = strings.ReplaceAll(url.PathEscape(path[i]), "@", "%40")
	}
	purl := fmt.Sprintf("pkg:%s/%s@%s", kind, strings.Join(path, "/"), url.PathEscape(version))
	return cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, BOMRef: purl, Name: name, Version: version, PackageURL: purl}
}
