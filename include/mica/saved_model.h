/* mica/saved_model.h: SavedModels, loaded, run and saved.
 *
 * A SavedModel is a folder that TensorFlow (1 too), Keras or Mica wrote: signatures (functions with
 * named inputs and outputs) and the variables that they use. Loading reads the variables onto a
 * device; a signature becomes a graph when it is first run, so that a model with an op that Mica
 * does not have loads, and the signature that needs it says which op, which node and which
 * function.
 *
 * A loaded model does not change but for its variables. Any thread may run any signature; the
 * sizes of inputs may differ from run to run, where the signature leaves them open.
 *
 * A SavedModel is a program: load those that you trust. A file that is damaged is MICA_DATA_LOSS.
 *
 * @example
 *     const char *folder = getenv("MODEL");
 *     mica_device *device = NULL;
 *     mica_saved_model *model = NULL;
 *     mica_status status = mica_device_open("any", &device);
 *     if (!status && folder) status = mica_saved_model_load(folder, device, NULL, &model);
 *     for (int32_t i = 0; model && i < mica_saved_model_signature_count(model); i++)
 *         puts(mica_saved_model_signature(model, i)->name);
 *     mica_saved_model_release(model);
 *     mica_device_release(device);
 *     mica_status_release(status);
 * @end
 */
#ifndef MICA_SAVED_MODEL_H
#define MICA_SAVED_MODEL_H

#include "tf.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mica_saved_model mica_saved_model;

typedef struct mica_saved_model_options {
    size_t size;             /* sizeof(mica_saved_model_options), set by the caller */
    const char *const *tags; /* that the model was saved with, all of them; NULL: any */
    int32_t n_tags;
} mica_saved_model_options;

/* options may be NULL. NOT_FOUND: there is no such folder, or no model in it. */
MICA_API MICA_MUST_CHECK mica_status mica_saved_model_load(const char *folder, mica_device *device,
                                                           const mica_saved_model_options *options,
                                                           mica_saved_model **out_model);
MICA_API void mica_saved_model_retain(mica_saved_model *model);
MICA_API void mica_saved_model_release(mica_saved_model *model);

/* ---- signatures -------------------------------------------------------------------------------*/

typedef struct mica_signature_tensor {
    const char *name;
    mica_tf_dtype dtype;
    mica_tf_shape shape; /* as far as it is fixed */
} mica_signature_tensor;

/* Inputs and outputs are in the order of their names. */
typedef struct mica_signature {
    const char *name;
    const mica_signature_tensor *inputs, *outputs;
    int32_t n_inputs, n_outputs;
} mica_signature;

MICA_API int32_t mica_saved_model_signature_count(const mica_saved_model *model);
/* NULL past the end; it lives as long as the model. */
MICA_API const mica_signature *mica_saved_model_signature(const mica_saved_model *model, int32_t i);
/* The signature of this name, or NULL. */
MICA_API const mica_signature *mica_saved_model_find(const mica_saved_model *model,
                                                     const char *name);

/* Runs a signature. Inputs are in its order, their tensors on the model's device; the outputs, in
 * its order, are the caller's to release. */
MICA_API MICA_MUST_CHECK mica_status
mica_saved_model_run(mica_saved_model *model, const char *signature, const mica_tf_value *inputs,
                     int32_t n_inputs, mica_tf_value *out_outputs, int32_t n_outputs);
/* A signature as a function, to be differentiated, called or printed: its parameters are the
 * signature's inputs, then handles of variables and tables, of which there are *out_n_captured.
 * out_captured (of room for mica_saved_model_handle_count; may be NULL) receives their numbers.
 * Retained for the caller. */
MICA_API MICA_MUST_CHECK mica_status mica_saved_model_graph(mica_saved_model *model,
                                                            const char *signature,
                                                            mica_tf_graph **out_graph,
                                                            int32_t *out_captured,
                                                            int32_t *out_n_captured);

/* ---- variables and tables ---------------------------------------------------------------------*/

/* Handles are of variables first, then of tables. */
MICA_API int32_t mica_saved_model_variable_count(const mica_saved_model *model);
MICA_API int32_t mica_saved_model_handle_count(const mica_saved_model *model);
/* A handle, which stays the model's; no value past the end. mica_tf_variable_read and
 * mica_tf_variable_assign get and set what a variable holds. */
MICA_API mica_tf_value mica_saved_model_handle(const mica_saved_model *model, int32_t i);
/* The handle of the variable of this name (mica_tf_variable_name); no value: there is none. */
MICA_API mica_tf_value mica_saved_model_variable(const mica_saved_model *model, const char *name);

/* ---- saving -----------------------------------------------------------------------------------*/

typedef struct mica_saved_model_save_options {
    size_t size; /* sizeof(mica_saved_model_save_options), set by the caller */
    bool is_new; /* FAILED_PRECONDITION where the folder has something in it */
} mica_saved_model_save_options;

/* Writes the model with what its variables and tables hold now; all else is as it was loaded, byte
 * for byte. TensorFlow loads it. The whole folder takes the place of an old model at once
 * (mica_folder_writer); after a failure that one is still there. Assets are copied from the folder
 * that the model was loaded from, which may be this one; FAILED_PRECONDITION where another model
 * has taken its place. UNSUPPORTED where the file has no place for the value of a variable, or has
 * one that Mica cannot read. options may be NULL. */
MICA_API MICA_MUST_CHECK mica_status
mica_saved_model_save(const mica_saved_model *model, const char *folder,
                      const mica_saved_model_save_options *options);

/* ---- functions by name ------------------------------------------------------------------------*/

/* The functions of a file, for front ends that keep its variables and objects themselves: of the
 * bytes of a saved_model.pb, which must stay as they are for as long as the library lives. `path`
 * is for messages. Not for several threads at once. */
typedef struct mica_function_library mica_function_library;
MICA_API MICA_MUST_CHECK mica_status
mica_function_library_create(const void *bytes, size_t n, const char *path, mica_device *device,
                             mica_function_library **out_library);
MICA_API void mica_function_library_release(mica_function_library *library);
/* A function as a graph: of each argument the dtype and shape of the variable whose handle it is,
 * or MICA_TF_no_dtype. INVALID_ARGUMENT: it has another number of arguments. Retained for the
 * caller. */
MICA_API MICA_MUST_CHECK mica_status mica_function_library_graph(
    mica_function_library *library, const char *name, const mica_tf_dtype *dtypes,
    const mica_tf_shape *shapes, int32_t n, mica_tf_graph **out_graph);

#ifdef __cplusplus
}
#endif
#endif
