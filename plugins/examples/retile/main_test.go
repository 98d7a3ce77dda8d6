package main

import (
	"testing"

	"tensortapestry.org/tapc/plugins/plugintest"
)

func TestMain(m *testing.M) { plugintest.Main(m) }

func TestConformance(t *testing.T) { plugintest.Run(t, ".") }
