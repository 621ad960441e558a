#!/bin/bash
# Turns files into C: embed.sh FILE... prints, for each FILE, an array of its
# bytes (and a closing 0 that is not counted), then a table that ends with a
# NULL name. A file's name there is its own without folder and ending.
set -euo pipefail

echo '/* made by scripts/dev/embed.sh */'
table=''
for f; do
  name=$(basename "${f%.*}")
  id=embedded_${name//[!a-zA-Z0-9]/_}
  echo "static const unsigned char ${id}[] = {"
  od -An -v -tu1 "$f" | sed 's/^ *//; s/ *$//; s/  */,/g; s/$/,/'
  echo '0};'
  table+="  {\"$name\", $id, sizeof $id - 1},"$'\n'
done
cat <<END
static const struct {
  const char *name;
  const unsigned char *bytes;
  size_t size;
} embedded[] = {
${table}  {NULL, NULL, 0},
};
END
