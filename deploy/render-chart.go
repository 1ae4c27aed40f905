// Renders a chart as Helm does: with Go's templates, the functions of sprig, and those that Helm adds. Debian has both libraries,
// and no Helm. Its input is {"templates": {NAME: TEXT}, "files": {NAME: TEXT}, "values", "chart", "release"}, its output {NAME: RENDERED}.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

// A type with a name, as in Helm: functions that take a map must take it too.
type values map[string]interface{}

// Of the chart, below its folder.
type files map[string]string

func (all files) Get(name string) string { return all[name] }

type input struct {
	Templates map[string]string
	Files     files
	Values    values
	Chart     struct{ Name, Version, AppVersion string }
	Release   map[string]interface{}
}

func main() {
	var in input
	check(json.NewDecoder(os.Stdin).Decode(&in))
	// A missing value is empty.
	all := template.New("keyrail").Option("missingkey=zero")
	all.Funcs(sprig.TxtFuncMap()).Funcs(template.FuncMap{
		"include": func(name string, data interface{}) (string, error) {
			var text strings.Builder
			err := all.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
		"required": func(warning string, value interface{}) (interface{}, error) {
			if value == nil || value == "" {
				return nil, fmt.Errorf("%s", warning)
			}
			return value, nil
		},
		"fromYaml": func(text string) (map[string]interface{}, error) {
			value := map[string]interface{}{}
			return value, yaml.Unmarshal([]byte(text), &value)
		},
		"toYaml": func(value interface{}) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
	})
	for name, text := range in.Templates {
		_, err := all.New(name).Parse(text)
		check(err)
	}
	rendered := map[string]string{}
	data := map[string]interface{}{"Values": in.Values, "Chart": in.Chart, "Release": in.Release, "Files": in.Files}
	for name := range in.Templates {
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text strings.Builder
		check(all.ExecuteTemplate(&text, name, data))
		rendered[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	check(json.NewEncoder(os.Stdout).Encode(rendered))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
