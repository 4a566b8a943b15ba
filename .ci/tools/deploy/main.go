// Command deploy checks the files that others install Mailer with: compose.yaml against Compose's
// schema, and the Helm chart by Helm's own linter, by rendering it with several settings, and by
// decoding what comes out strictly as Kubernetes' types:
//
//	deploy COMPOSE CHART
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"helm.sh/helm/v3/pkg/chart"
	helm "helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// settings are values of the chart with the kinds of objects that they make, or with a part of
// the error that they cause.
var settings = []struct {
	name   string
	values string
	kinds  []string
	fails  string
}{
	{"one server", `{baseURL: "https://mail.example.com", secret: {values: {MAILER_RELAY: "smtp://u:p@smtp.example.net:587"}}}`,
		[]string{"Secret", "Service", "Service", "StatefulSet"}, ""},
	{"several servers", `{baseURL: "https://mail.example.com", replicas: 2, postgres: true, masterKeySecret: keys, secret: {existing: mine}, metrics: {enabled: true, serviceMonitor: true},
		env: {MAILER_BOUNCE_HOST: bounces.example.com}, persistence: {storageClass: fast}, nodeSelector: {disk: ssd}, tolerations: [{operator: Exists}], imagePullSecrets: [{name: registry}]}`,
		[]string{"Service", "Service", "ServiceMonitor", "StatefulSet"}, ""},
	{"two servers on a file", `{baseURL: "https://mail.example.com", replicas: 2}`, nil, "replicas"},
	{"PostgreSQL without a key", `{baseURL: "https://mail.example.com", postgres: true}`, nil, "masterKeySecret"},
	{"no base URL", `{}`, nil, "baseURL"},
	{"a path in the base URL", `{baseURL: "https://example.com/mail"}`, nil, "baseURL"},
	{"a mistyped value", `{baseURL: "https://mail.example.com", replica: 1}`, nil, "replica"},
	{"a variable of another program", `{baseURL: "https://mail.example.com", env: {PATH: /x}}`, nil, "PATH"},
	{"stopped too early", `{baseURL: "https://mail.example.com", terminationGracePeriodSeconds: 5}`, nil, "terminationGracePeriodSeconds"},
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: deploy COMPOSE CHART")
	}
	if err := errors.Join(checkCompose(os.Args[1]), checkChart(os.Args[2])); err != nil {
		log.Fatal("deploy: ", err)
	}
	fmt.Println("compose.yaml and the chart are valid with", len(settings), "settings")
}

func checkCompose(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	project, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir:  ".",
		ConfigFiles: []types.ConfigFile{{Filename: file, Content: content}},
		Environment: types.Mapping{},
	}, func(o *loader.Options) {
		o.SetProjectName("mailer", true)
		o.SkipResolveEnvironment = true // mailer.env is the user's
	})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if s := project.Services["mailer"]; len(project.Services) != 1 || len(project.Volumes) != 1 || s.HealthCheck == nil || s.StopGracePeriod == nil {
		return fmt.Errorf("%s: one service with a health check and a stop period, and one volume expected", file)
	}
	return nil
}

func checkChart(dir string) error {
	var errs []error
	for _, message := range lint.AllWithKubeVersion(dir, parse(settings[0].values), "default", nil).Messages {
		if message.Severity >= support.WarningSev {
			errs = append(errs, message)
		}
	}
	c, err := helm.Load(dir)
	if err != nil {
		return err
	}
	for _, s := range settings {
		kinds, err := render(c, parse(s.values))
		switch {
		case s.fails != "" && (err == nil || !strings.Contains(err.Error(), s.fails)):
			errs = append(errs, fmt.Errorf("%s: an error about %s expected, not %v", s.name, s.fails, err))
		case s.fails == "" && err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		case s.fails == "" && !slices.Equal(kinds, s.kinds):
			errs = append(errs, fmt.Errorf("%s: it makes %v, not %v", s.name, kinds, s.kinds))
		}
	}
	return errors.Join(errs...)
}

func parse(values string) map[string]any {
	var v map[string]any
	if err := yaml.Unmarshal([]byte(values), &v); err != nil {
		log.Fatal(err)
	}
	return v
}

// render renders the chart and returns the kinds of its objects in order.
func render(c *chart.Chart, values map[string]any) ([]string, error) {
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "release", Namespace: "mail", IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for object := range strings.SplitSeq(files[name], "\n---\n") {
			if !strings.HasSuffix(name, ".yaml") || strings.TrimSpace(object) == "" {
				continue
			}
			kind, err := decode(object)
			if err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", name, err, object)
			}
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds, nil
}

// decode decodes an object strictly as the type of its kind. ServiceMonitor is a type of the
// Prometheus Operator and is only parsed.
func decode(object string) (string, error) {
	var head struct{ Kind string }
	if err := yaml.Unmarshal([]byte(object), &head); err != nil {
		return "", err
	}
	into, ok := map[string]any{"Secret": &core.Secret{}, "Service": &core.Service{}, "StatefulSet": &apps.StatefulSet{}, "ServiceMonitor": &map[string]any{}}[head.Kind]
	if !ok {
		return "", fmt.Errorf("unknown kind %q", head.Kind)
	}
	return head.Kind, yaml.UnmarshalStrict([]byte(object), into)
}
