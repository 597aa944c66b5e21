# A file that is replaced keeps its mode; a link stays a link.
echo old >real.cu && chmod 640 real.cu && ln -s real.cu link.cu
mirage-opt --no-gpu -q examples/lora.json -o link.cu 2>/dev/null || exit
stat -c '%A %N' link.cu real.cu
grep -c "^old$" real.cu || true
