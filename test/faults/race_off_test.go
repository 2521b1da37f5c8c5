//go:build linux && !race

package faults_test

const raceEnabled = false
