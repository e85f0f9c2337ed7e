// Package engine gives out locks on N independent Redis masters.
package engine
