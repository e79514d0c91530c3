/* mica/mlc_tensor.h: devices, tensor descriptors, tensor data, tensors and parameters of ML
 * Compute. Start with mlc.h. */
#ifndef MICA_MLC_TENSOR_H
#define MICA_MLC_TENSOR_H

#include "mlc_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- platform, devices ------------------------------------------------------------------------*/

/* Random initialisers draw from Philox 4x32-10 with this key; setting the seed starts the sequence
 * again. Until it is set the seed is 0. @mlc MLCPlatform +setRNGSeedTo: */
MICA_API void mlc_platform_set_rng_seed(uint64_t seed);
/* false: it was never set. @mlc MLCPlatform +getRNGseed */
MICA_API bool mlc_platform_rng_seed(uint64_t *out_seed);

/* Receives the notes that the library has for its user, such as a fall-back to another device, each
 * once. NULL: they are log lines of the topic `device`. */
MICA_API void mlc_set_note_handler(void (*handler)(void *context, const char *text), void *context);

/* @mlc MLCDevice +cpuDevice */
MICA_API MICA_MUST_CHECK mica_status mlc_device_cpu(mlc_device **out_device);
/* A GPU that can compute, else the CPU with a note. @mlc MLCDevice +gpuDevice */
MICA_API MICA_MUST_CHECK mica_status mlc_device_gpu(mlc_device **out_device);
/* Falls back to the best other device with a note; for inference graphs only.
 * @mlc MLCDevice +aneDevice */
MICA_API MICA_MUST_CHECK mica_status mlc_device_ane(mlc_device **out_device);
/* @mlc MLCDevice +deviceWithType: */
MICA_API MICA_MUST_CHECK mica_status mlc_device_with_type(mlc_device_type type,
                                                          mlc_device **out_device);
/* With more than one compute device asked for, the first is taken.
 * @mlc MLCDevice +deviceWithType:selectsMultipleComputeDevices: */
MICA_API MICA_MUST_CHECK mica_status mlc_device_with_type_and_count(mlc_device_type type,
                                                                    bool selects_multiple,
                                                                    mlc_device **out_device);
/* A device by Mica's name ("cpu", "ref", "fake", "cuda:1"). */
MICA_API MICA_MUST_CHECK mica_status mlc_device_named(const char *name, mlc_device **out_device);
MICA_API void mlc_device_retain(mlc_device *device);
MICA_API void mlc_device_release(mlc_device *device); /* NULL is allowed, as everywhere below */
/* @mlc MLCDevice .type */
MICA_API mlc_device_type mlc_device_type_of(const mlc_device *device);
/* What it really is: never Any. @mlc MLCDevice .actualDeviceType */
MICA_API mlc_device_type mlc_device_actual_type(const mlc_device *device);
/* Mica's device behind it; borrowed. */
MICA_API mica_device *mlc_device_mica_device(const mlc_device *device);

/* ---- tensor descriptors -----------------------------------------------------------------------*/

/* Sizes must be at least 1; at most mlc_tensor_descriptor_max_dimensions() of them.
 * @mlc MLCTensorDescriptor +descriptorWithShape:dataType: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_descriptor_create(
    mica_ints shape, mlc_data_type type, mlc_tensor_descriptor **out_descriptor);
/* shape is (batch, sequence, features); one length per example, at most the sequence's. When
 * sorted, lengths must not increase.
 * @mlc MLCTensorDescriptor +descriptorWithShape:sequenceLengths:sortedSequences:dataType: */
MICA_API MICA_MUST_CHECK mica_status
mlc_tensor_descriptor_with_sequences(mica_ints shape, mica_ints sequence_lengths, bool sorted,
                                     mlc_data_type type, mlc_tensor_descriptor **out_descriptor);
/* (batch, channels, height, width); Float32 when the type is MLC_DATA_TYPE_INVALID.
 * @mlc MLCTensorDescriptor +descriptorWithWidth:height:featureChannelCount:batchSize:
 * @mlc MLCTensorDescriptor +descriptorWithWidth:height:featureChannelCount:batchSize:dataType: */
MICA_API MICA_MUST_CHECK mica_status
mlc_tensor_descriptor_image(int64_t width, int64_t height, int64_t channels, int64_t batch,
                            mlc_data_type type, mlc_tensor_descriptor **out_descriptor);
/* [1, out * in, height, width]; remembers in and out, for fan-aware initialisers.
 * @mlc MLCTensorDescriptor
 *      +convolutionWeightsDescriptorWithWidth:height:inputFeatureChannelCount:outputFeatureChannelCount:dataType:
 */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_descriptor_convolution_weights(
    int64_t width, int64_t height, int64_t in_channels, int64_t out_channels, mlc_data_type type,
    mlc_tensor_descriptor **out_descriptor);
/* [1, out * in, 1, 1], for fully connected layers.
 * @mlc MLCTensorDescriptor
 *      +convolutionWeightsDescriptorWithInputFeatureChannelCount:outputFeatureChannelCount:dataType:
 */
MICA_API MICA_MUST_CHECK mica_status
mlc_tensor_descriptor_dense_weights(int64_t in_channels, int64_t out_channels, mlc_data_type type,
                                    mlc_tensor_descriptor **out_descriptor);
/* [1, channels, 1, 1]
 * @mlc MLCTensorDescriptor +convolutionBiasesDescriptorWithFeatureChannelCount:dataType: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_descriptor_biases(
    int64_t channels, mlc_data_type type, mlc_tensor_descriptor **out_descriptor);
MICA_API void mlc_tensor_descriptor_retain(mlc_tensor_descriptor *descriptor);
MICA_API void mlc_tensor_descriptor_release(mlc_tensor_descriptor *descriptor);

/* @mlc MLCTensorDescriptor .dataType */
MICA_API mlc_data_type mlc_tensor_descriptor_data_type(const mlc_tensor_descriptor *descriptor);
/* @mlc MLCTensorDescriptor .dimensionCount */
MICA_API int32_t mlc_tensor_descriptor_dimension_count(const mlc_tensor_descriptor *descriptor);
/* @mlc MLCTensorDescriptor .shape */
MICA_API mica_ints mlc_tensor_descriptor_shape(const mlc_tensor_descriptor *descriptor);
/* In bytes. @mlc MLCTensorDescriptor .stride */
MICA_API mica_ints mlc_tensor_descriptor_stride(const mlc_tensor_descriptor *descriptor);
/* @mlc MLCTensorDescriptor .tensorAllocationSizeInBytes */
MICA_API size_t mlc_tensor_descriptor_bytes(const mlc_tensor_descriptor *descriptor);
/* Empty without sequences. @mlc MLCTensorDescriptor .sequenceLengths */
MICA_API mica_ints mlc_tensor_descriptor_sequence_lengths(const mlc_tensor_descriptor *descriptor);
/* @mlc MLCTensorDescriptor .sortedSequences */
MICA_API bool mlc_tensor_descriptor_sorted_sequences(const mlc_tensor_descriptor *descriptor);
/* How many sequences are longer than step t, for t = 0, 1, ...: of sorted sequences; else empty.
 * @mlc MLCTensorDescriptor .batchSizePerSequenceStep */
MICA_API mica_ints
mlc_tensor_descriptor_batch_size_per_sequence_step(const mlc_tensor_descriptor *descriptor);
/* The most dimensions a tensor may have (Mica's, not the original's 4).
 * @mlc MLCTensorDescriptor +maxTensorDimensions */
MICA_API int32_t mlc_tensor_descriptor_max_dimensions(void);

/* ---- tensor data ------------------------------------------------------------------------------*/

/* @mlc MLCTensorData +dataWithBytesNoCopy:length: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_data_create(void *bytes, size_t length,
                                                            mlc_tensor_data **out_data);
/* Cannot be used where results are written.
 * @mlc MLCTensorData +dataWithImmutableBytesNoCopy:length: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_data_create_immutable(const void *bytes,
                                                                      size_t length,
                                                                      mlc_tensor_data **out_data);
/* The deallocator is called once, when nothing uses the memory any more.
 * @mlc MLCTensorData +dataWithBytesNoCopy:length:deallocator: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_data_create_with_deallocator(
    void *bytes, size_t length, void (*deallocator)(void *context, void *bytes, size_t length),
    void *context, mlc_tensor_data **out_data);
/* Both: for memory that is only read. */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_data_create_immutable_with_deallocator(
    const void *bytes, size_t length,
    void (*deallocator)(void *context, void *bytes, size_t length), void *context,
    mlc_tensor_data **out_data);
MICA_API bool mlc_tensor_data_is_immutable(const mlc_tensor_data *data);
MICA_API void mlc_tensor_data_retain(mlc_tensor_data *data);
MICA_API void mlc_tensor_data_release(mlc_tensor_data *data);
/* @mlc MLCTensorData .bytes */
MICA_API void *mlc_tensor_data_bytes(const mlc_tensor_data *data);
/* @mlc MLCTensorData .length */
MICA_API size_t mlc_tensor_data_length(const mlc_tensor_data *data);

/* ---- tensors ----------------------------------------------------------------------------------*/

/* Without data. @mlc MLCTensor +tensorWithDescriptor: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_create(mlc_tensor_descriptor *descriptor,
                                                       mlc_tensor **out_tensor);
/* @mlc MLCTensor +tensorWithDescriptor:randomInitializerType: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_create_random(mlc_tensor_descriptor *descriptor,
                                                              mlc_random_initializer_type type,
                                                              mlc_tensor **out_tensor);
/* @mlc MLCTensor +tensorWithDescriptor:fillWithData: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_create_filled(mlc_tensor_descriptor *descriptor,
                                                              double value,
                                                              mlc_tensor **out_tensor);
/* The data's length must be the descriptor's bytes. @mlc MLCTensor +tensorWithDescriptor:data: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_create_with_data(mlc_tensor_descriptor *descriptor,
                                                                 mlc_tensor_data *data,
                                                                 mlc_tensor **out_tensor);
/* @mlc MLCTensor +tensorWithShape: +tensorWithShape:dataType: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_with_shape(mica_ints shape, mlc_data_type type,
                                                           mlc_tensor **out_tensor);
/* @mlc MLCTensor +tensorWithShape:randomInitializerType:
 * @mlc MLCTensor +tensorWithShape:randomInitializerType:dataType: */
MICA_API MICA_MUST_CHECK mica_status
mlc_tensor_with_shape_random(mica_ints shape, mlc_random_initializer_type initializer,
                             mlc_data_type type, mlc_tensor **out_tensor);
/* @mlc MLCTensor +tensorWithShape:data:dataType: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_with_shape_data(mica_ints shape,
                                                                mlc_tensor_data *data,
                                                                mlc_data_type type,
                                                                mlc_tensor **out_tensor);
/* @mlc MLCTensor +tensorWithShape:fillWithData:dataType: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_with_shape_filled(mica_ints shape, double value,
                                                                  mlc_data_type type,
                                                                  mlc_tensor **out_tensor);
/* @mlc MLCTensor +tensorWithWidth:height:featureChannelCount:batchSize: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_image(int64_t width, int64_t height,
                                                      int64_t channels, int64_t batch,
                                                      mlc_tensor **out_tensor);
/* @mlc MLCTensor +tensorWithWidth:height:featureChannelCount:batchSize:fillWithData:dataType: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_image_filled(int64_t width, int64_t height,
                                                             int64_t channels, int64_t batch,
                                                             double value, mlc_data_type type,
                                                             mlc_tensor **out_tensor);
/* @mlc MLCTensor +tensorWithWidth:height:featureChannelCount:batchSize:randomInitializerType: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_image_random(int64_t width, int64_t height,
                                                             int64_t channels, int64_t batch,
                                                             mlc_random_initializer_type type,
                                                             mlc_tensor **out_tensor);
/* Float32 when the type is MLC_DATA_TYPE_INVALID.
 * @mlc MLCTensor +tensorWithWidth:height:featureChannelCount:batchSize:data:
 * @mlc MLCTensor +tensorWithWidth:height:featureChannelCount:batchSize:data:dataType: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_image_data(int64_t width, int64_t height,
                                                           int64_t channels, int64_t batch,
                                                           mlc_tensor_data *data,
                                                           mlc_data_type type,
                                                           mlc_tensor **out_tensor);
/* (batch, sequence, channels) @mlc MLCTensor
 * +tensorWithSequenceLength:featureChannelCount:batchSize: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_sequence(int64_t length, int64_t channels,
                                                         int64_t batch, mlc_tensor **out_tensor);
/* @mlc MLCTensor
 *      +tensorWithSequenceLength:featureChannelCount:batchSize:randomInitializerType: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_sequence_random(int64_t length, int64_t channels,
                                                                int64_t batch,
                                                                mlc_random_initializer_type type,
                                                                mlc_tensor **out_tensor);
/* @mlc MLCTensor +tensorWithSequenceLength:featureChannelCount:batchSize:data: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_sequence_data(int64_t length, int64_t channels,
                                                              int64_t batch, mlc_tensor_data *data,
                                                              mlc_tensor **out_tensor);
/* The sequence's size is the longest length. @mlc MLCTensor
 *      +tensorWithSequenceLengths:sortedSequences:featureChannelCount:batchSize:randomInitializerType:
 */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_sequences_random(mica_ints lengths, bool sorted,
                                                                 int64_t channels, int64_t batch,
                                                                 mlc_random_initializer_type type,
                                                                 mlc_tensor **out_tensor);
/* @mlc MLCTensor +tensorWithSequenceLengths:sortedSequences:featureChannelCount:batchSize:data: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_sequences_data(mica_ints lengths, bool sorted,
                                                               int64_t channels, int64_t batch,
                                                               mlc_tensor_data *data,
                                                               mlc_tensor **out_tensor);
/* Another tensor with the same descriptor, label and data; another id. */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_copy(mlc_tensor *tensor, mlc_tensor **out_tensor);
MICA_API void mlc_tensor_retain(mlc_tensor *tensor);
MICA_API void mlc_tensor_release(mlc_tensor *tensor);

/* 1, 2, ... in the order tensors are made. @mlc MLCTensor .tensorID */
MICA_API uint64_t mlc_tensor_id(const mlc_tensor *tensor);
/* @mlc MLCTensor .descriptor */
MICA_API mlc_tensor_descriptor *mlc_tensor_descriptor_of(const mlc_tensor *tensor);
/* The host's data: the caller's memory, or the library's when it made the data. A graph's result
 * has data once synchronised. NULL: there is none. Borrowed. @mlc MLCTensor .data */
MICA_API mlc_tensor_data *mlc_tensor_data_of(const mlc_tensor *tensor);
/* "data<id>" until set. @mlc MLCTensor .label */
MICA_API const char *mlc_tensor_label(const mlc_tensor *tensor);
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_set_label(mlc_tensor *tensor, const char *label);
/* The device that holds its data; NULL before it was written to one. @mlc MLCTensor .device */
MICA_API mlc_device *mlc_tensor_device(const mlc_tensor *tensor);
/* The optimizer's buffers for this tensor on the host, as bound or synchronised.
 * @mlc MLCTensor .optimizerData */
MICA_API mlc_data_list mlc_tensor_optimizer_data(const mlc_tensor *tensor);
/* @mlc MLCTensor .optimizerDeviceData */
MICA_API mlc_device_data_list mlc_tensor_optimizer_device_data(const mlc_tensor *tensor);
/* false when an element is NaN or infinite; waits. @mlc MLCTensor .hasValidNumerics */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_has_valid_numerics(mlc_tensor *tensor,
                                                                   bool *out_valid);

/* Waits, then copies the device's data to the host's (made when there is none).
 * @mlc MLCTensor -synchronizeData */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_synchronize_data(mlc_tensor *tensor);
/* The same for the optimizer's buffers. @mlc MLCTensor -synchronizeOptimizerData */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_synchronize_optimizer_data(mlc_tensor *tensor);
/* Copies to other memory; `length` must be the data's. With `synchronize` the device's data, which
 * is waited for; without, the host's as it is.
 * @mlc MLCTensor -copyDataFromDeviceMemoryToBytes:length:synchronizeWithDevice: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_copy_data(mlc_tensor *tensor, void *bytes,
                                                          size_t length, bool synchronize);
/* @mlc MLCTensor -bindAndWriteData:toDevice: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_bind_and_write(mlc_tensor *tensor,
                                                               mlc_tensor_data *data,
                                                               mlc_device *device);
/* One buffer of the tensor's size per state of the optimizer (momentum; first and second moment;
 * ...). device_data may be the empty list. @mlc MLCTensor -bindOptimizerData:deviceData: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_bind_optimizer_data(
    mlc_tensor *tensor, mlc_data_list data, mlc_device_data_list device_data);
/* A copy: the buffer's current contents. */
MICA_API void mlc_optimizer_device_data_retain(mlc_optimizer_device_data *data);
MICA_API void mlc_optimizer_device_data_release(mlc_optimizer_device_data *data);
MICA_API size_t mlc_optimizer_device_data_bytes(const mlc_optimizer_device_data *data);

/* New tensors: q = clamp(round(x / scale) + bias) as Int8, UInt8 or Int32; x = (q - bias) scale.
 * scale (Float32) and bias (the quantized type) have one element, or one per place along the axis.
 * @mlc MLCTensor -tensorByQuantizingToType:scale:bias: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_quantize(mlc_tensor *tensor, mlc_data_type type,
                                                         float scale, int64_t bias,
                                                         mlc_tensor **out_tensor);
/* @mlc MLCTensor -tensorByQuantizingToType:scale:bias:axis: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_quantize_axis(mlc_tensor *tensor,
                                                              mlc_data_type type, mlc_tensor *scale,
                                                              mlc_tensor *bias, int64_t axis,
                                                              mlc_tensor **out_tensor);
/* @mlc MLCTensor -tensorByDequantizingToType:scale:bias: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_dequantize(mlc_tensor *tensor, mlc_data_type type,
                                                           mlc_tensor *scale, mlc_tensor *bias,
                                                           mlc_tensor **out_tensor);
/* @mlc MLCTensor -tensorByDequantizingToType:scale:bias:axis: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_dequantize_axis(mlc_tensor *tensor,
                                                                mlc_data_type type,
                                                                mlc_tensor *scale, mlc_tensor *bias,
                                                                int64_t axis,
                                                                mlc_tensor **out_tensor);

/* @mlc MLCTensorParameter +parameterWithTensor: */
MICA_API MICA_MUST_CHECK mica_status
mlc_tensor_parameter_create(mlc_tensor *tensor, mlc_tensor_parameter **out_parameter);
/* @mlc MLCTensorParameter +parameterWithTensor:optimizerData: */
MICA_API MICA_MUST_CHECK mica_status mlc_tensor_parameter_create_with_optimizer_data(
    mlc_tensor *tensor, mlc_data_list data, mlc_tensor_parameter **out_parameter);
MICA_API void mlc_tensor_parameter_retain(mlc_tensor_parameter *parameter);
MICA_API void mlc_tensor_parameter_release(mlc_tensor_parameter *parameter);
/* @mlc MLCTensorParameter .tensor */
MICA_API mlc_tensor *mlc_tensor_parameter_tensor(const mlc_tensor_parameter *parameter);
/* true at first; the optimizer leaves others alone. Looked at when a graph is compiled.
 * @mlc MLCTensorParameter .isUpdatable */
MICA_API bool mlc_tensor_parameter_is_updatable(const mlc_tensor_parameter *parameter);
MICA_API void mlc_tensor_parameter_set_is_updatable(mlc_tensor_parameter *parameter,
                                                    bool is_updatable);

#ifdef __cplusplus
}
#endif
#endif
