#!/bin/sh
# Stands for run_ways in self_test.py: a model that does not end.
exec sleep 60
