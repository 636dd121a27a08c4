#!/bin/bash
# what scripts of models reckon with
read -r count
tr ' ' '\n' | sed '/^$/d' | paste -sd+ - | bc | jq -rR tostring
