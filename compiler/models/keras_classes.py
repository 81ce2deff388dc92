"""The classes of Keras 2 and 3 of which a model may consist. None of them runs what a file brings:
Lambda, layers of other frameworks, and those that open further files are not among them."""

from __future__ import annotations

# Why a class of Keras itself is none that a file may name; ends "..., which ".
REFUSED = {
    "Lambda": "runs Python code from the file",
    "__lambda__": "is Python code in the file",
    "TFOpLambda": "calls any function of TensorFlow that the file names",
    "SlicingOpLambda": "calls any function of TensorFlow that the file names",
    "TensorFlowOpLayer": "runs any operator of TensorFlow that the file brings",
    "TFSMLayer": "runs a model from another file",
    "JaxLayer": "runs a function that the file brings",
    "FlaxLayer": "runs a module that the file brings",
    "TorchModuleWrapper": "unpickles a module from the file",
    "StringLookup": "may read any file as its vocabulary",
    "IntegerLookup": "may read any file as its vocabulary",
    "TextVectorization": "may read any file as its vocabulary",
}

_MODELS = "Sequential Functional Model"
_LAYERS = """
Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D
AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add
AdditiveAttention AlphaDropout Attention AugMix AutoContrast Average AveragePooling1D
AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D AvgPool3D BatchNormalization
BatchNormalizationV1 BatchNormalizationV2 Bidirectional CategoryEncoding CenterCrop Concatenate
ContrastLimitedAdaptiveHistogramEqualization Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D
Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Convolution1D Convolution1DTranspose Convolution2D
Convolution2DTranspose Convolution3D Convolution3DTranspose Cropping1D Cropping2D Cropping3D
CuDNNGRU CuDNNLSTM CutMix Dense DepthwiseConv1D DepthwiseConv2D Discretization Dot Dropout ELU
EinsumDense Embedding Equalization Flatten GRU GRUCell GRUV1 GRUV2 GaussianDropout GaussianNoise
GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D GlobalAvgPool1D
GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D GlobalMaxPool3D GlobalMaxPooling1D
GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization GroupQueryAttention HashedCrossing Hashing
Identity InputLayer InputSpec LSTM LSTMCell LSTMV1 LSTMV2 Layer LayerNormalization LeakyReLU
LocallyConnected1D LocallyConnected2D Masking MaxNumBoundingBoxes MaxPool1D MaxPool2D MaxPool3D
MaxPooling1D MaxPooling2D MaxPooling3D Maximum MelSpectrogram Minimum MixUp MultiHeadAttention
Multiply Normalization PReLU Permute Pipeline RMSNormalization RNN RandAugment RandomBrightness
RandomColorDegeneration RandomColorJitter RandomContrast RandomCrop RandomElasticTransform
RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale RandomHeight RandomHue RandomInvert
RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear
RandomTranslation RandomWidth RandomZoom ReLU RepeatVector Rescaling Reshape Resizing
ReversibleEmbedding STFTSpectrogram SeparableConv1D SeparableConv2D SeparableConvolution1D
SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax Solarization SpatialDropout1D
SpatialDropout2D SpatialDropout3D SpectralNormalization StackedRNNCells Subtract
SyncBatchNormalization ThresholdedReLU TimeDistributed UnitNormalization UpSampling1D UpSampling2D
UpSampling3D Wrapper ZeroPadding1D ZeroPadding2D ZeroPadding3D
"""
_INITIALIZERS = """
Constant GlorotNormal GlorotNormalV2 GlorotUniform GlorotUniformV2 HeNormal HeNormalV2 HeUniform
HeUniformV2 Identity IdentityInitializer Initializer LecunNormal LecunNormalV2 LecunUniform
LecunUniformV2 Ones OnesV2 Orthogonal OrthogonalInitializer OrthogonalV2 RandomNormal RandomNormalV2
RandomUniform RandomUniformV2 STFT STFTInitializer TruncatedNormal TruncatedNormalV2 VarianceScaling
VarianceScalingV2 Zeros ZerosV2 constant glorot_normal glorot_uniform he_normal he_uniform identity
lecun_normal lecun_uniform ones orthogonal random_normal random_uniform stft truncated_normal
variance_scaling zeros
"""
_OTHERS = """
L1 L1L2 L2 OrthogonalRegularizer Regularizer l1 l1_l2 l2 orthogonal_regularizer
Constraint MaxNorm MinMaxNorm NonNeg UnitNorm max_norm min_max_norm non_neg unit_norm
AWQDTypePolicy DTypePolicy DTypePolicyMap FloatDTypePolicy GPTQDTypePolicy Int4DTypePolicy
QuantizedDTypePolicy QuantizedFloat8DTypePolicy Policy PolicyV1
AWQConfig AbsMaxQuantizer Float8QuantizationConfig GPTQConfig Int4QuantizationConfig
Int8QuantizationConfig QuantizationConfig Quantizer SeedGenerator
__keras_tensor__ __tensor__ __numpy__ __bytes__ __ellipsis__ __slice__ __tuple__ TensorShape
"""
CLASSES = frozenset(f"{_MODELS} {_LAYERS} {_INITIALIZERS} {_OTHERS}".split())

_ACTIVATIONS = """
celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu
linear log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax softplus
softsign sparse_plus sparse_sigmoid sparsemax squareplus swish tanh tanh_shrink threshold
"""
FUNCTIONS = frozenset(_ACTIVATIONS.split())
