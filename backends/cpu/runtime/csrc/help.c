// The text of --help.
#include <string.h>

#include "internal.h"

static void print_tensor(FILE *to, const tapc_tensor *tensor, int width) {
  char text[512];
  fprintf(to, "  %-*s  %s %s", width, tensor->name, tapc_dtype_of(tensor->dtype)->name, tapc_shape_text(text, sizeof text, tensor->rank, tensor->shape));
  if (!tapc_starts_at_zero(tensor)) fprintf(to, ", range %s", tapc_range_text(text, sizeof text, tensor));
  fprintf(to, ", %zu bytes", tensor->bytes);
  const tapc_file *file = tensor->file;
  if (file) fprintf(to, ", in %s%s%s", file->path, file->key ? ":" : "", file->key ? file->key : "");
  putc('\n', to);
}

static void print_tensors(FILE *to, const char *title, const tapc_tensor *tensors, int n) {
  int width = 0;
  for (int i = 0; i < n; i++) {
    int length = (int)strlen(tensors[i].name);
    if (length > width && length <= 40) width = length;
  }
  fprintf(to, "\n%s:%s\n", title, n ? "" : " none");
  for (int i = 0; i < n; i++) print_tensor(to, &tensors[i], width);
}

static const char flag_text[] = "\nFlags:\n"
                                "  --input NAME=FILE    read an input from FILE.npy, or from FILE.npz or FILE.safetensors under its own name\n"
                                "  --input NAME=FILE:KEY  read it from FILE.npz or FILE.safetensors under another name\n"
                                "  --inputs FILE        read inputs by name from FILE.npz or FILE.safetensors (also --input FILE)\n"
                                "  --random SEED        fill each input that is not given: floats in [-1, 1), integers -8 to 7 or 0 to 15\n"
                                "  --output NAME=FILE   write an output to FILE.npy, FILE.npz or FILE.safetensors\n"
                                "  --outputs FILE       write all outputs to FILE.npz or FILE.safetensors\n"
                                "  --data-dir DIR       the folder of the files that inputs and outputs above are in (default: the working directory)\n"
                                "  --bench N            run N times after a warm-up; print the median, 10th and 90th percentile in milliseconds\n"
                                "  --warm-up MS         with --bench, run so long before (default: 100; at least 3 runs, at most 1000)\n"
                                "  --profile            with --bench, run N times more and print the mean time of each step, and what each device did\n"
                                "  --pin                bind each thread to a core\n"
                                "  --threads N          use N threads (default: one per core)\n"
                                "  --describe           print the program's inputs, outputs and origin as JSON\n"
                                "  --version            print the version\n"
                                "  --help, -h           print this\n"
                                "\nA tensor's range says which points of the graph it holds; files hold the shape only.\n"
                                "Without --output, --outputs and --bench the outputs are printed.\n"
                                "Exit status: 0 done, 1 an input is at fault, 2 usage, 3 out of memory or an internal error.\n";

static void print_dims(FILE *to, const tapc_program *program) {
  if (!program->n_dims) return;
  fprintf(to, "\nSizes: the program takes several, and each run those of its inputs. Shapes above are of the greatest.\n");
  for (int d = 0; d < program->n_dims; d++) {
    fprintf(to, "  %s=", program->dims[d]);
    tapc_print_sizes(to, program, d);
    putc('\n', to);
  }
  fputs("  --dim NAME=SIZE      the size of a dimension, where inputs are at random; else the greatest\n", to);
}

static void print_example(FILE *to, const tapc_program *program, const char *self) {
  fprintf(to, "\nExample:\n  %s", self);
  for (int i = 0; i < program->n_inputs && i < 3; i++)
    if (!program->inputs[i].file) fprintf(to, " --input %s=%s.npy", program->inputs[i].name, program->inputs[i].name);
  if (program->n_inputs > 3) fprintf(to, " --random 1");
  if (program->n_outputs && !program->outputs[0].file) fprintf(to, " --output %s=%s.npy", program->outputs[0].name, program->outputs[0].name);
  putc('\n', to);
}

void tapc_print_help(FILE *to, const tapc_program *program, const char *self) {
  fprintf(to, "Usage: %s [FLAGS]\n", self);
  if (program->doc && *program->doc) fprintf(to, "\n%s: %s\n", program->name, program->doc);
  print_tensors(to, "Inputs", program->inputs, program->n_inputs);
  print_tensors(to, "Outputs", program->outputs, program->n_outputs);
  print_dims(to, program);
  fputs(flag_text, to);
  if (program->peak_bytes)
    fprintf(to, "Memory: at most %.1f MiB with one thread, %.1f MiB more with several and %.2f MiB for each further one%s; the program checks that at the start.\n",
      (double)program->peak_bytes / (1 << 20), (double)program->threads_bytes / (1 << 20), (double)program->thread_bytes / (1 << 20),
      program->n_workspaces ? ", and workspaces (--describe)" : "");
  print_example(to, program, self);
}
