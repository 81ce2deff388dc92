/* Stands in for TensorFlow Lite's header of this name, which no package brings: the declarations
 * that the README's program needs, so that it compiles as printed and links the real library. */
#ifndef STAND_IN_TFLITE_C_API_H
#define STAND_IN_TFLITE_C_API_H

#include <stddef.h>
#include <stdint.h>

typedef enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1 } TfLiteStatus;
typedef enum TfLiteType { kTfLiteFloat32 = 1, kTfLiteUInt8 = 3, kTfLiteInt8 = 9 } TfLiteType;

typedef struct TfLiteModel TfLiteModel;
typedef struct TfLiteInterpreter TfLiteInterpreter;
typedef struct TfLiteInterpreterOptions TfLiteInterpreterOptions;
typedef struct TfLiteTensor TfLiteTensor;

TfLiteModel *TfLiteModelCreateFromFile(const char *path);
TfLiteInterpreter *TfLiteInterpreterCreate(const TfLiteModel *model,
                                           const TfLiteInterpreterOptions *options);
TfLiteStatus TfLiteInterpreterAllocateTensors(TfLiteInterpreter *interpreter);
TfLiteStatus TfLiteInterpreterInvoke(TfLiteInterpreter *interpreter);
TfLiteTensor *TfLiteInterpreterGetInputTensor(const TfLiteInterpreter *interpreter, int32_t index);
int32_t TfLiteInterpreterGetOutputTensorCount(const TfLiteInterpreter *interpreter);
const TfLiteTensor *TfLiteInterpreterGetOutputTensor(const TfLiteInterpreter *interpreter,
                                                     int32_t index);
TfLiteType TfLiteTensorType(const TfLiteTensor *tensor);
size_t TfLiteTensorByteSize(const TfLiteTensor *tensor);
void *TfLiteTensorData(const TfLiteTensor *tensor);
const char *TfLiteTensorName(const TfLiteTensor *tensor);
TfLiteStatus TfLiteTensorCopyFromBuffer(TfLiteTensor *tensor, const void *data, size_t size);

#endif /* STAND_IN_TFLITE_C_API_H */
